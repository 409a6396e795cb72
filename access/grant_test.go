package access_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/internal/fault"
)

func TestAGrantAllowsWhatItsCallerMaySee(t *testing.T) {
	exporter := []access.Permission{access.CreateExports}
	for _, c := range []struct {
		name  string
		grant access.Grant
		scope access.Scope
		lacks string // in the message; "" if it is allowed
	}{
		{"everything", access.Grant{Permissions: access.Permissions()}, access.Scope{Personal: true}, ""},
		{"masked", access.Grant{Permissions: exporter}, access.Scope{}, ""},
		{"own properties", access.Grant{Permissions: exporter, Properties: []int64{1, 2}}, access.Scope{Properties: []int64{2}}, ""},
		{"the empty grant", access.Grant{}, access.Scope{Properties: []int64{}}, "exports:create"},
		{"may read, not export", access.Grant{Permissions: []access.Permission{access.ReadReservations, access.ReadPersonal}}, access.Scope{}, "exports:create"},
		{"personal data", access.Grant{Permissions: exporter}, access.Scope{Personal: true}, "pii:read"},
		{"a property that was taken away", access.Grant{Permissions: exporter, Properties: []int64{1}}, access.Scope{Properties: []int64{1, 2}}, "properties"},
		{"all properties", access.Grant{Permissions: exporter, Properties: []int64{}}, access.Scope{}, "properties"},
	} {
		err := c.grant.Allows(c.scope)
		if c.lacks == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || fault.KindOf(err) != fault.Forbidden || !strings.Contains(fault.Message(err), c.lacks) {
			t.Errorf("%s: %v, want Forbidden with %q", c.name, err, c.lacks)
		}
	}
}

func TestAGrantIsItsPrincipals(t *testing.T) {
	at := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	p := access.Principal{Subject: "s", Name: "n", Permissions: access.Permissions(), Properties: []int64{7}, MaxRows: 9}
	g := access.GrantOf(p, at)
	if diff := cmp.Diff(p, g.Principal()); diff != "" || !g.SeenAt.Equal(at) {
		t.Errorf("seen %v (-want +got):\n%s", g.SeenAt, diff)
	}
	if !g.Same(access.GrantOf(p, at.Add(time.Hour))) {
		t.Error("the same grant, seen later, is another")
	}
	for name, change := range map[string]func(*access.Grant){
		"subject":       func(g *access.Grant) { g.Subject = "x" },
		"name":          func(g *access.Grant) { g.Name = "x" },
		"permissions":   func(g *access.Grant) { g.Permissions = g.Permissions[1:] },
		"properties":    func(g *access.Grant) { g.Properties = []int64{8} },
		"max rows":      func(g *access.Grant) { g.MaxRows = 8 },
		"all, not none": func(g *access.Grant) { g.Properties = nil },
	} {
		other := g
		if change(&other); g.Same(other) {
			t.Errorf("%s: another grant is taken for the same", name)
		}
	}
	none, all := g, g
	none.Properties, all.Properties = []int64{}, nil
	if none.Same(all) {
		t.Error("no property is taken for all")
	}
}
