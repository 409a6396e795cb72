package blob_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"rowmill/internal/blob"
)

// The test binary runs itself as the writer that gets killed.
const (
	childURL = "ROWMILL_BLOB_TEST_CHILD_URL"
	childKey = "ROWMILL_BLOB_TEST_CHILD_KEY"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		fmt.Fprintln(os.Stdout, writeForEver(url, os.Getenv(childKey)))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func writeForEver(url, key string) error {
	ctx := context.Background()
	store, err := blob.Open(ctx, url)
	if err != nil {
		return err
	}
	return store.Put(ctx, key, text, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "written")
		select {}
	})
}

// killWriter kills a process with SIGKILL in the middle of a Put.
func killWriter(t *testing.T, url, key string) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childURL+"="+url, childKey+"="+key)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "written\n" {
		t.Errorf("the writing process said %q, %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the writing process ended by itself")
	}
}
