package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"rowmill/internal/config"
)

func parse(t *testing.T, args ...string) (*config.Config, error) {
	t.Helper()
	var c config.Config
	var noted config.Errors
	parser, err := kong.New(&c, noted.Options()...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		return nil, err
	}
	return &c, noted.Join(c.Check())
}

func TestTheDefaultsAreValidAndEmbedded(t *testing.T) {
	t.Setenv("ROWMILL_MYSQL_DSN", "someone@tcp(elsewhere)/theirs")
	c, err := config.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
	if c.Window < c.FetchMax {
		t.Errorf("one job alone has %d pages under way, and never uses the %d fetches", c.Window, c.FetchMax)
	}
	if !c.Embedded() || c.PageSize != 1000 || c.Lease != 15*time.Second || len(c.Roles) != 3 {
		t.Errorf("got %+v", c)
	}
}

func TestAFlagWinsOverItsVariable(t *testing.T) {
	t.Setenv("ROWMILL_PAGE_SIZE", "200")
	t.Setenv("ROWMILL_WINDOW", "3")
	c, err := parse(t, "--page-size=300")
	if err != nil || c.PageSize != 300 || c.Window != 3 {
		t.Errorf("got page size %d, window %d, %v", c.PageSize, c.Window, err)
	}
}

func TestAWrongConfigurationTellsAllThatIsWrong(t *testing.T) {
	t.Setenv("ROWMILL_LEASE", "soon")
	_, err := parse(t, "--page-size=many", "--window=0", "--roles=worker,cook", "--log-format=xml", "--gateway-addr=8080", "--blob-url=ftp://x", "--time-zone=Mars/Base", "--token=short", "--retention=1s", "--files-every=1ms", "--files-age=1ms", "--coupon-timeout=1m", "--home-l1-ttl=2m", "--home-l2-ttl=100ms")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`--lease: "soon" is not a duration`, `--page-size: "many" is not a whole number`, `--window: 0 is not between 1 and 1024`, `--roles: "cook" is none of`,
		`--roles: roles in separate processes need`, `--reservations-url: is needed`, `--service-token: of at least 16`, `--log-format: "xml"`,
		`--blob-url: is neither`, `--time-zone: "Mars/Base"`, `--token: is too short`, `--retention: 1s is not between`, `--files-every: 1ms is not between`, `--files-age: 1ms is not between`,
		`--coupon-timeout: 1m0s is not between 10ms and 30s`,
		`--home-l1-ttl: 2m0s is not between 10ms and 100ms`, `--home-l2-ttl: 100ms is not between 1s and 24h0m0s`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q", want)
		}
	}
	for _, flag := range []string{"--lease:", "--page-size:"} {
		if n := strings.Count(err.Error(), flag); n != 1 {
			t.Errorf("%s is told %d times in:\n%v", flag, n, err)
		}
	}
}

func TestServersOfOnesOwnNeedSecrets(t *testing.T) {
	own := []string{"--mysql-dsn=u:p@tcp(db)/r", "--redis-url=redis://r:6379"}
	if _, err := parse(t, own...); err == nil || !strings.Contains(err.Error(), "--token: is needed") {
		t.Errorf("without a token: %v", err)
	}
	if _, err := parse(t, append(own, "--token=0123456789abcdef")...); err != nil {
		t.Errorf("with a token: %v", err)
	}
	if _, err := parse(t, "--mysql-dsn=u:p@tcp(db)/r"); err == nil || !strings.Contains(err.Error(), "go together") {
		t.Errorf("one server without the other: %v", err)
	}
}

func TestTheReservationAPINeedsItsDatabaseAlone(t *testing.T) {
	if _, err := parse(t, "--roles=reservations", "--mysql-dsn=u:p@tcp(db)/r", "--service-token=0123456789abcdef"); err != nil {
		t.Error(err)
	}
}

func TestNoErrorRepeatsASecret(t *testing.T) {
	_, err := parse(t, "--token=hunter2", "--service-token=hunter3", "--roles=worker", "--mysql-dsn=root:hunter4@tcp(db)/r", "--redis-url=redis://:hunter5@r", "--blob-url=x://hunter6@y")
	if err == nil {
		t.Fatal("no error")
	}
	if strings.Contains(err.Error(), "hunter") {
		t.Errorf("a secret is in: %v", err)
	}
}
