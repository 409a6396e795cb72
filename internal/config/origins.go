package config

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// origins checks that each allowed origin is one as a browser sends it (RFC 6454,
// 6.2): anything else would never match, and a * would let every page in.
func (p *problems) origins(c *Config) {
	for _, o := range c.AllowedOrigins {
		if !isOrigin(o) {
			p.add("allowed-origins", "%q is no origin, which is scheme://host or scheme://host:port and nothing more", o)
		}
	}
}

func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || strings.ContainsAny(s, "*") {
		return false
	}
	if s != u.Scheme+"://"+u.Host || s != strings.ToLower(s) { // a path, a query, a user, capitals
		return false
	}
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port > 0 && port < 1<<16 && u.Port() == strconv.Itoa(port) && net.JoinHostPort(u.Hostname(), u.Port()) == u.Host
}
