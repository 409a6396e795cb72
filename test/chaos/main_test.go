package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // some of toxiproxy's toxics log by themselves
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if path, err := binary(); err == nil {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				panic(err)
			}
		}
		os.Exit(code)
	}))
}
