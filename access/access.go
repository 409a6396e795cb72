// Package access says who calls and what they may do: the permissions, the roles
// that grant them, and the scope of rows that a caller sees. It knows no protocol:
// who somebody is, others find out.
package access

import (
	"context"
	"slices"
)

// Permission is a thing that a caller may do.
type Permission string

const (
	ReadReservations Permission = "reservations:read"
	CreateExports    Permission = "exports:create"   // and read, download and cancel one's own
	ReadAllExports   Permission = "exports:read-all" // see everybody's jobs; not their files
	ReadPersonal     Permission = "pii:read"         // personal data in the clear, with a reason
	ReadAudit        Permission = "audit:read"
	WriteHome        Permission = "home:write" // change the home board
)

// Permissions gives all permissions.
func Permissions() []Permission {
	return []Permission{ReadReservations, CreateExports, ReadAllExports, ReadPersonal, ReadAudit, WriteHome}
}

// Principal is who calls. The zero Principal may do nothing.
type Principal struct {
	Subject     string // stable and unique; never shown alone where there is a Name
	Name        string // for people; "" if not known
	Roles       []string
	Permissions []Permission
	Properties  []int64 // whose rows are seen; nil: all; empty: none
	MaxRows     int64   // of one export; 0: no bound but the service's
}

// May reports whether p has the permission.
func (p Principal) May(what Permission) bool { return slices.Contains(p.Permissions, what) }

// Scope gives the rows and values that p sees. Personal is what p asks for and is
// granted only with ReadPersonal.
func (p Principal) Scope(personal bool) Scope {
	return Scope{Properties: p.Properties, Personal: personal && p.May(ReadPersonal)}
}

// Scope is what of the rows is seen. The zero Scope sees all rows, personal data masked.
type Scope struct {
	Properties []int64 `json:"properties"` // nil: all; empty: none
	Personal   bool    `json:"personal"`   // personal data in the clear
}

// Within reports whether who sees outer sees all that s shows.
func (s Scope) Within(outer Scope) bool {
	if s.Personal && !outer.Personal {
		return false
	}
	if outer.Properties == nil {
		return true
	}
	return s.Properties != nil && !slices.ContainsFunc(s.Properties, func(id int64) bool { return !slices.Contains(outer.Properties, id) })
}

type principalKey struct{}

// System is the subject of what no caller did. No user may have it.
const System = "system"

// With gives a context whose caller is p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// From gives the caller; ok is false outside of a call that has one.
func From(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(principalKey{}).(Principal)
	return p, ok
}
