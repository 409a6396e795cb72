package gateway

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// clientAddress gives the IP address of who calls: the peer's, unless that is a
// proxy of ours. Then it is what the proxies' X-Forwarded-For says, read from its
// right end, where each proxy adds whom it was called by: the first that is no proxy
// of ours. What stands left of it anybody may have written. "" if there is no peer.
func clientAddress(r *http.Request, proxies []netip.Prefix) string {
	client, ok := hop(r.RemoteAddr)
	if !ok {
		return ""
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(hops) {
		if !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(client) }) {
			break
		}
		next, ok := hop(strings.TrimSpace(text))
		if !ok {
			break // nothing that a proxy of ours writes: the last that is known stands
		}
		client = next
	}
	return client.String()
}

// hop reads an address that may have a port, as some proxies write it.
func hop(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(text)
		address = withPort.Addr()
	}
	return address.Unmap().WithZone(""), err == nil
}
