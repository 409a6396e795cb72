package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if path, err := binary(); err == nil {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				panic(err)
			}
		}
		os.Exit(code)
	}))
}
