package access_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
)

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name         string
		scope, outer access.Scope
		want         bool
	}{
		{"all in all", access.Scope{}, access.Scope{}, true},
		{"some in all", access.Scope{Properties: []int64{1}}, access.Scope{}, true},
		{"none in some", access.Scope{Properties: []int64{}}, access.Scope{Properties: []int64{1}}, true},
		{"part", access.Scope{Properties: []int64{2}}, access.Scope{Properties: []int64{1, 2}}, true},
		{"all in some", access.Scope{}, access.Scope{Properties: []int64{1, 2}}, false},
		{"another", access.Scope{Properties: []int64{2, 3}}, access.Scope{Properties: []int64{1, 2}}, false},
		{"some in none", access.Scope{Properties: []int64{2}}, access.Scope{Properties: []int64{}}, false},
		{"in the clear in masked", access.Scope{Personal: true}, access.Scope{}, false},
		{"masked in the clear", access.Scope{}, access.Scope{Personal: true}, true},
	} {
		if got := c.scope.Within(c.outer); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestGrant(t *testing.T) {
	policy := access.DefaultPolicy()
	for _, c := range []struct {
		name    string
		roles   []string
		granted []access.Permission
		maxRows int64
	}{
		{"nobody", nil, nil, 0},
		{"a role that is none", []string{"root"}, nil, 0},
		{"one", []string{"operator"}, []access.Permission{access.ReadReservations, access.CreateExports}, 200_000},
		{"the wider bound wins", []string{"operator", "admin"}, access.Permissions(), 0},
		{"a role that exports nothing widens no bound", []string{"viewer", "operator"}, []access.Permission{access.ReadReservations, access.CreateExports}, 200_000},
	} {
		granted, maxRows := policy.Grant(c.roles)
		if diff := cmp.Diff(c.granted, granted); diff != "" || maxRows != c.maxRows {
			t.Errorf("%s: at most %d rows (-want +got):\n%s", c.name, maxRows, diff)
		}
	}
}

func TestOnlyWhoMayReadItIsShownPersonalData(t *testing.T) {
	p := access.Principal{Permissions: []access.Permission{access.ReadReservations}, Properties: []int64{7}}
	if diff := cmp.Diff(access.Scope{Properties: []int64{7}}, p.Scope(true)); diff != "" {
		t.Error(diff)
	}
	p.Permissions = append(p.Permissions, access.ReadPersonal)
	if !p.Scope(true).Personal || p.Scope(false).Personal {
		t.Error("personal data are shown when they were asked for and may be read, and only then")
	}
}

func TestAPolicyIsReadWholeOrNotAtAll(t *testing.T) {
	got, err := access.ReadPolicy(strings.NewReader(`{"clerk":{"permissions":["reservations:read","exports:create"],"max_rows":5},"nobody":{"permissions":[]}}`))
	want := access.Policy{
		"clerk":  {Permissions: []access.Permission{access.ReadReservations, access.CreateExports}, MaxRows: 5},
		"nobody": {Permissions: []access.Permission{}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for name, text := range map[string]string{
		"nothing":                       ``,
		"no object":                     `["clerk"]`,
		"no role":                       `{}`,
		"null":                          `null`,
		"a permission that is misspelt": `{"clerk":{"permissions":["export:create"]}}`,
		"a property that is misspelt":   `{"clerk":{"permissions":[],"maxrows":5}}`,
		"a bound below nought":          `{"clerk":{"permissions":[],"max_rows":-1}}`,
		"a role without a name":         `{"":{"permissions":[]}}`,
		"two policies":                  `{"clerk":{"permissions":[]}} {"clerk":{"permissions":[]}}`,
		"more than a policy":            `{"clerk":{"permissions":[]}} x`,
	} {
		if p, err := access.ReadPolicy(strings.NewReader(text)); err == nil {
			t.Errorf("%s is read as %v", name, p)
		}
	}
}

func TestTheDefaultPolicyIsOneThatCanBeWritten(t *testing.T) {
	b, err := json.Marshal(access.DefaultPolicy())
	if err != nil {
		t.Fatal(err)
	}
	got, err := access.ReadPolicy(bytes.NewReader(b))
	if diff := cmp.Diff(access.DefaultPolicy(), got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
