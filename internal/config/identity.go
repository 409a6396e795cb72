package config

import (
	"net"
	"net/netip"
	"net/url"
)

// Identity is how the gateway finds out who calls and what they may do.
type Identity struct {
	Issuer          string   `name:"oidc-issuer" env:"ROWMILL_OIDC_ISSUER" placeholder:"URL" help:"OpenID Connect issuer at which users sign in; empty: there is the token alone, and on a machine for development the choice of a role."`
	ClientID        string   `name:"oidc-client-id" env:"ROWMILL_OIDC_CLIENT_ID" placeholder:"ID" help:"The gateway's client id at the issuer. Its redirect address is --base-url followed by /auth/callback."`
	ClientSecret    string   `name:"oidc-client-secret" env:"ROWMILL_OIDC_CLIENT_SECRET" placeholder:"SECRET" help:"The client's secret; empty: a public client."`
	Audience        string   `name:"oidc-audience" env:"ROWMILL_OIDC_AUDIENCE" placeholder:"AUDIENCE" help:"Audience that the issuer's tokens for this API name; empty: no bearer tokens of the issuer are taken."`
	RolesClaim      string   `name:"oidc-roles-claim" env:"ROWMILL_OIDC_ROLES_CLAIM" default:"roles" help:"Claim with the user's roles, or the path to it, like realm_access.roles."`
	PropertiesClaim string   `name:"oidc-properties-claim" env:"ROWMILL_OIDC_PROPERTIES_CLAIM" placeholder:"CLAIM" help:"Claim with the ids of the properties that the user sees; a user without it then sees none. Empty: users see all."`
	SessionKeys     []string `name:"session-key" env:"ROWMILL_SESSION_KEY" sep:"," placeholder:"SECRET" help:"Secret of the session cookies, at least 32 characters. Several, with commas between them: the first seals, all open. Empty, with everything embedded: a random one at each start."`
	Policy          string   `name:"policy" env:"ROWMILL_POLICY" placeholder:"FILE" help:"JSON file that says what each role grants; empty: the roles viewer, operator, manager, auditor and admin."`
}

const minSessionKey = 32

// DevelopmentSignIn reports whether callers may choose their role: on a gateway
// that needs no other server, is reached from this machine alone, and has no issuer.
func (c *Config) DevelopmentSignIn() bool {
	host, _, err := net.SplitHostPort(c.GatewayAddr)
	base, baseErr := url.Parse(c.BaseURL)
	return c.Plays(Gateway) && c.Embedded() && c.Issuer == "" && err == nil && baseErr == nil &&
		loopback(host) && (c.BaseURL == "" || loopback(base.Hostname()))
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && addr.IsLoopback())
}

func (p *problems) identity(c *Config) {
	for _, key := range c.SessionKeys {
		if len(key) < minSessionKey {
			p.add("session-key", "has a secret that is too short: at least %d characters", minSessionKey)
		}
	}
	if c.Issuer == "" {
		for _, f := range []struct{ flag, value string }{
			{"oidc-client-id", c.ClientID}, {"oidc-client-secret", c.ClientSecret}, {"oidc-audience", c.Audience}, {"oidc-properties-claim", c.PropertiesClaim},
		} {
			if f.value != "" {
				p.add(f.flag, "goes with --oidc-issuer, which is missing")
			}
		}
		return
	}
	p.trusted("oidc-issuer", c.Issuer)
	p.trusted("base-url", c.BaseURL)
	if c.ClientID == "" {
		p.add("oidc-client-id", "is needed with --oidc-issuer")
	}
	if c.RolesClaim == "" {
		p.add("oidc-roles-claim", "is empty: nobody would have a role")
	}
	if c.Plays(Gateway) && !c.Embedded() && len(c.SessionKeys) == 0 {
		p.add("session-key", "is needed, since users sign in and the gateway does not run embedded")
	}
}

// trusted wants an address that secrets may be sent to: https, or this machine.
func (p *problems) trusted(flag, value string) {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname()))) {
		p.add(flag, "with --oidc-issuer, an https:// address is needed, or one of http:// on this machine")
	}
}
