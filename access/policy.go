package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Role is a name in a caller's claims and what it grants.
type Role struct {
	Permissions []Permission `json:"permissions"`
	MaxRows     int64        `json:"max_rows,omitempty"` // of one export; 0: no bound
}

// Policy is what each role grants. A role that it does not know grants nothing.
type Policy map[string]Role

// DefaultPolicy gives the roles of an installation that defines none.
func DefaultPolicy() Policy {
	return Policy{
		"viewer":   {Permissions: []Permission{ReadReservations}},
		"operator": {Permissions: []Permission{ReadReservations, CreateExports}, MaxRows: 200_000},
		"manager":  {Permissions: []Permission{ReadReservations, CreateExports, ReadAllExports, ReadPersonal, WriteHome}},
		"auditor":  {Permissions: []Permission{ReadAudit}},
		"admin":    {Permissions: Permissions()},
	}
}

// Grant gives what the roles grant together: every permission of each, in the
// order of Permissions, and the largest of their bounds.
func (p Policy) Grant(roles []string) (granted []Permission, maxRows int64) {
	bounded := true
	for _, name := range roles {
		role, known := p[name]
		if !known || !slices.Contains(role.Permissions, CreateExports) {
			continue
		}
		bounded = bounded && role.MaxRows > 0
		maxRows = max(maxRows, role.MaxRows)
	}
	for _, permission := range Permissions() {
		if slices.ContainsFunc(roles, func(name string) bool { return slices.Contains(p[name].Permissions, permission) }) {
			granted = append(granted, permission)
		}
	}
	if !bounded {
		maxRows = 0
	}
	return granted, maxRows
}

// ReadPolicy reads a policy in JSON: an object of roles by name. What it does not
// know is an error: a permission that is misspelt must not be missed silently.
func ReadPolicy(r io.Reader) (Policy, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	var p Policy
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the policy goes on after its end")
	}
	if len(p) == 0 {
		return nil, errors.New("the policy has no role")
	}
	for name, role := range p {
		if name == "" || role.MaxRows < 0 {
			return nil, fmt.Errorf("role %q: it has no name, or max_rows is negative", name)
		}
		for _, permission := range role.Permissions {
			if !slices.Contains(Permissions(), permission) {
				return nil, fmt.Errorf("role %q: there is no permission %q", name, permission)
			}
		}
	}
	return p, nil
}
