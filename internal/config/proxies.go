package config

import (
	"net/netip"
	"slices"
)

// maxProxies bounds the networks that are looked through for each call.
const maxProxies = 64

// Proxies gives the networks of TrustedProxies. Check has seen them.
func (c *Config) Proxies() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range c.TrustedProxies {
		if network, ok := network(text); ok {
			networks = append(networks, network)
		}
	}
	return networks
}

// network reads a network, or an address as the network of it alone.
func network(text string) (netip.Prefix, bool) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil && !p.Addr().Is4In6()
}

func (p *problems) proxies(c *Config) {
	if len(c.TrustedProxies) > maxProxies {
		p.add("trusted-proxies", "has %d networks; %d are allowed", len(c.TrustedProxies), maxProxies)
	}
	wrong := slices.IndexFunc(c.TrustedProxies, func(text string) bool {
		network, ok := network(text)
		return !ok || network.Bits() == 0 // of everybody: anybody could say who he is
	})
	if wrong >= 0 {
		p.add("trusted-proxies", "%q is not a network like 10.0.0.0/8, or it is all of them", c.TrustedProxies[wrong])
	}
}
