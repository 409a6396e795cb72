package access

import (
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
		"manager":  {Permissions: []Permission{ReadReservations, CreateExports, ReadAllExports, ReadPersonal}},
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
