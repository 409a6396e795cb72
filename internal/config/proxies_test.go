package config_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTrustedProxiesAreNetworks(t *testing.T) {
	c, err := parse(t, "--trusted-proxies=10.1.2.3/8,2001:db8::/32,192.0.2.1,::1,::ffff:192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Proxies() {
		got = append(got, p.String())
	}
	want := []string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.1/32", "::1/128", "192.0.2.7/32"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c, err := parse(t); err != nil || c.Proxies() != nil {
		t.Errorf("by default %v are trusted, %v", c.Proxies(), err)
	}
}

func TestWhoTrustsEverybodyIsTold(t *testing.T) {
	many := make([]string, 65)
	for i := range many {
		many[i] = netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}).String()
	}
	for _, networks := range []string{"0.0.0.0/0", "::/0", "10.0.0.0/33", "proxy", "10.0.0.0/8,,", "fe80::1%eth0", "::ffff:10.0.0.0/104", strings.Join(many, ",")} {
		if _, err := parse(t, "--trusted-proxies="+networks); err == nil || !strings.Contains(fmt.Sprint(err), "--trusted-proxies: ") {
			t.Errorf("%s: %v", networks, err)
		}
	}
}

func TestTheAuditIsKeptForADayAtLeast(t *testing.T) {
	for retention, ok := range map[string]bool{"24h": true, "23h": false, "175200h": true, "175201h": false} {
		if _, err := parse(t, "--audit-retention="+retention); (err == nil) != ok {
			t.Errorf("%s: %v", retention, err)
		}
	}
}
