package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestTheClientsAddressIsNotTheClientsToSay(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		trusted    []netip.Prefix
		want       string
	}{
		{"the peer", "203.0.113.5:1234", nil, proxies, "203.0.113.5"},
		{"a peer that claims to be another", "203.0.113.5:1234", []string{"198.51.100.1"}, proxies, "203.0.113.5"},
		{"a peer like a proxy, where none is trusted", "10.0.0.1:1234", []string{"198.51.100.1"}, nil, "10.0.0.1"},
		{"by a proxy", "10.0.0.1:1234", []string{"198.51.100.1"}, proxies, "198.51.100.1"},
		{"by a proxy, and what the client had written", "10.0.0.1:1234", []string{"1.2.3.4, 198.51.100.1"}, proxies, "198.51.100.1"},
		{"what the client had written looks like a proxy", "10.0.0.1:1234", []string{"10.6.6.6, 198.51.100.1"}, proxies, "198.51.100.1"},
		{"by two proxies", "10.0.0.1:1234", []string{"1.2.3.4, 198.51.100.1,10.0.0.2"}, proxies, "198.51.100.1"},
		{"in two headers", "10.0.0.1:1234", []string{"1.2.3.4", "198.51.100.1", "10.0.0.2"}, proxies, "198.51.100.1"},
		{"a client inside", "10.0.0.1:1234", []string{"10.0.0.9, 10.0.0.2"}, proxies, "10.0.0.9"},
		{"a proxy that says nothing", "10.0.0.1:1234", nil, proxies, "10.0.0.1"},
		{"a proxy that says unknown", "10.0.0.1:1234", []string{"198.51.100.1, unknown"}, proxies, "10.0.0.1"},
		{"rubbish left of a proxy", "10.0.0.1:1234", []string{"<script>, 10.0.0.2"}, proxies, "10.0.0.2"},
		{"an empty hop", "10.0.0.1:1234", []string{"198.51.100.1,"}, proxies, "10.0.0.1"},
		{"with its port", "10.0.0.1:1234", []string{"198.51.100.1:5678"}, proxies, "198.51.100.1"},
		{"IPv6", "[2001:db8::1]:1234", []string{"2a00::7"}, proxies, "2a00::7"},
		{"IPv6 in brackets, with its port", "[2001:db8::1]:1234", []string{"[2a00::7]:99"}, proxies, "2a00::7"},
		{"IPv6 in brackets", "[2001:db8::1]:1234", []string{"[2a00::7]"}, proxies, "2a00::7"},
		{"IPv4 written as IPv6", "[::ffff:10.0.0.1]:1234", []string{"::ffff:198.51.100.1"}, proxies, "198.51.100.1"},
		{"with its zone", "[fe80::1%eth0]:1234", nil, proxies, "fe80::1"},
		{"no peer", "", []string{"198.51.100.1"}, proxies, ""},
		{"a peer that is no address", "@", []string{"198.51.100.1"}, proxies, ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		for _, line := range c.forwarded {
			r.Header.Add("X-Forwarded-For", line)
		}
		if got := clientAddress(r, c.trusted); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
