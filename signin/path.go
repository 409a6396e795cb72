package signin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

const maxReturn = 1024 // bytes; it travels in a cookie

// localPath gives the path if a browser stays on this host by it, else "/".
func localPath(p string) string {
	const home = "/"
	// Browsers take \ for /, and drop the control characters that url.Parse refuses.
	if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "//") || strings.Contains(p, `\`) || len(p) > maxReturn {
		return home
	}
	u, err := url.Parse(p)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || strings.HasPrefix(u.Path, "//") || strings.HasPrefix(u.Path, "/auth/") {
		return home
	}
	return p
}

// proxied are headers by which a proxy says that it forwards, or for whom.
var proxied = map[string]bool{
	"Forwarded": true, "Via": true, "X-Real-Ip": true, "True-Client-Ip": true, "Cf-Connecting-Ip": true, "Cdn-Loop": true,
}

// fromThisMachine reports whether a call to a listener on the loopback was meant
// for it: a page whose name was turned to 127.0.0.1 has its own Host, and a proxy
// says that it forwards.
func fromThisMachine(r *http.Request) bool {
	for name := range r.Header {
		if proxied[name] || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}
