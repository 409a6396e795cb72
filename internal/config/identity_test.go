package config_test

import (
	"strings"
	"testing"

	"rowmill/internal/config"
)

const sessionKey = "0123456789abcdef0123456789abcdef"

func TestSignInIsConfiguredWholeOrNotAtAll(t *testing.T) {
	own := []string{"--mysql-dsn=u:p@tcp(db)/r", "--redis-url=redis://r:6379"}
	issuer := []string{"--oidc-issuer=https://id.example/realms/x", "--oidc-client-id=rowmill", "--base-url=https://rowmill.example"}
	for _, c := range []struct {
		name string
		args [][]string
		want string // "": it is valid
	}{
		{"servers of one's own", [][]string{own, issuer, {"--session-key=" + sessionKey}}, ""},
		{"two keys", [][]string{own, issuer, {"--session-key=" + sessionKey + "," + sessionKey + "x"}}, ""},
		{"embedded, with a random key", [][]string{issuer}, ""},
		{"an issuer on this machine", [][]string{{"--oidc-issuer=http://127.0.0.1:9000", "--oidc-client-id=c", "--base-url=http://localhost:8080"}}, ""},
		{"no key", [][]string{own, issuer}, "--session-key: is needed"},
		{"a short key", [][]string{issuer, {"--session-key=" + sessionKey + ",short-secret"}}, "--session-key: has a secret that is too short"},
		{"no client", [][]string{issuer[:1], issuer[2:]}, "--oidc-client-id: is needed"},
		{"no base url", [][]string{issuer[:2]}, "--base-url: with --oidc-issuer"},
		{"a base url by http", [][]string{issuer[:2], {"--base-url=http://rowmill.example"}}, "--base-url: with --oidc-issuer"},
		{"an issuer by http", [][]string{issuer[1:], {"--oidc-issuer=http://id.example"}}, "--oidc-issuer: with --oidc-issuer"},
		{"no roles", [][]string{issuer, {"--oidc-roles-claim="}}, "--oidc-roles-claim: is empty"},
		{"an audience without an issuer", [][]string{{"--oidc-audience=api"}}, "--oidc-audience: goes with --oidc-issuer"},
		{"properties without an issuer", [][]string{{"--oidc-properties-claim=p"}}, "--oidc-properties-claim: goes with --oidc-issuer"},
		{"neither a token nor an issuer", [][]string{own}, "--token: is needed, or --oidc-issuer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var args []string
			for _, a := range c.args {
				args = append(args, a...)
			}
			_, err := parse(t, args...)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			case err != nil && (strings.Contains(err.Error(), "short-secret") || strings.Contains(err.Error(), sessionKey)):
				t.Errorf("a secret is in: %v", err)
			}
		})
	}
}

func TestRolesAreChosenOnThisMachineAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*config.Config)
		want   bool
	}{
		{"the defaults", func(*config.Config) {}, true},
		{"a name for this machine", func(c *config.Config) { c.GatewayAddr, c.BaseURL = "localhost:0", "http://localhost:8080" }, true},
		{"IPv6", func(c *config.Config) { c.GatewayAddr = "[::1]:8080" }, true},
		{"all addresses", func(c *config.Config) { c.GatewayAddr = ":8080" }, false},
		{"all addresses by number", func(c *config.Config) { c.GatewayAddr = "0.0.0.0:8080" }, false},
		{"an address of the network", func(c *config.Config) { c.GatewayAddr = "192.0.2.7:8080" }, false},
		{"a name that begins alike", func(c *config.Config) { c.GatewayAddr = "localhost.example:8080" }, false},
		{"behind a proxy", func(c *config.Config) { c.BaseURL = "https://rowmill.example" }, false},
		{"servers of one's own", func(c *config.Config) { c.MySQLDSN, c.RedisURL = "u:p@tcp(db)/r", "redis://r" }, false},
		{"an issuer", func(c *config.Config) { c.Issuer = "https://id.example" }, false},
		{"no gateway", func(c *config.Config) { c.Roles = []string{"worker"} }, false},
	} {
		cfg, err := config.Defaults()
		if err != nil {
			t.Fatal(err)
		}
		c.change(cfg)
		if got := cfg.DevelopmentSignIn(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
