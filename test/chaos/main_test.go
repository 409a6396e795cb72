package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	zerolog.SetGlobalLevel(zerolog.Disabled)                    // some of toxiproxy's toxics log by themselves
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil { // that SQL was killed is known here
		panic(err)
	}
	// Where a connection ends while a toxic is taken out of it, toxiproxy leaves what read from it behind.
	left := goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run")
	reads := goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read")
	goleak.VerifyTestMain(m, left, reads, goleak.Cleanup(func(code int) {
		if path, err := binary(); err == nil {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				panic(err)
			}
		}
		os.Exit(code)
	}))
}
