package access

import (
	"slices"
	"time"

	"rowmill/internal/fault"
)

// Grant is what a caller might do when seen last. It is kept, so that what runs
// without its caller can be held to it. The zero Grant allows nothing.
type Grant struct {
	Subject     string
	Name        string
	Permissions []Permission
	Properties  []int64 // nil: all; empty: none
	MaxRows     int64   // of one export; 0: no bound but the service's
	SeenAt      time.Time
}

// GrantOf gives what p may do at the time.
func GrantOf(p Principal, at time.Time) Grant {
	return Grant{Subject: p.Subject, Name: p.Name, Permissions: p.Permissions, Properties: p.Properties, MaxRows: p.MaxRows, SeenAt: at}
}

// Principal gives the caller of the grant, whose roles are not kept.
func (g Grant) Principal() Principal {
	return Principal{Subject: g.Subject, Name: g.Name, Permissions: g.Permissions, Properties: g.Properties, MaxRows: g.MaxRows}
}

// Same reports whether both allow the same, whenever they were seen.
func (g Grant) Same(other Grant) bool {
	return g.Subject == other.Subject && g.Name == other.Name && g.MaxRows == other.MaxRows &&
		slices.Equal(g.Permissions, other.Permissions) &&
		(g.Properties == nil) == (other.Properties == nil) && slices.Equal(g.Properties, other.Properties)
}

// Allows returns nil if the caller may have an export that shows s, or Forbidden,
// which names what is missing.
func (g Grant) Allows(s Scope) error {
	p := g.Principal()
	switch {
	case !p.May(CreateExports):
		return fault.New(fault.Forbidden, "This needs the permission %s.", CreateExports)
	case s.Personal && !p.May(ReadPersonal):
		return fault.New(fault.Forbidden, "The export holds personal data; this needs the permission %s.", ReadPersonal)
	case !s.Within(p.Scope(true)):
		return fault.New(fault.Forbidden, "The export holds rows of properties that are not yours to see.")
	}
	return nil
}
