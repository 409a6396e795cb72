package reservation

import (
	"fmt"

	"rowmill/access"
	"rowmill/internal/fault"
)

// MaxProperties is the most properties that a scope may name: they are written
// into each statement.
const MaxProperties = 1000

// Check holds the query against its own scope. Who does not see personal data in
// the clear may not select or order rows by them either, as the rows that come
// would tell what is masked: that is Forbidden. (A search is not: it then looks
// at the codes alone.) A scope of too many properties is Invalid.
func (q Query) Check() error {
	if err := CheckScope(q.Scope); err != nil || q.Scope.Personal {
		return err
	}
	for _, c := range q.Filter.Conditions {
		if f, ok := FieldOf(c.Field); ok && f.Personal != "" {
			return fault.New(fault.Forbidden, "%s is needed to filter by %s, with personal=true.", access.ReadPersonal, f.Key)
		}
	}
	if f, ok := FieldOf(q.Sort.Field); ok && f.Personal != "" {
		return fault.New(fault.Forbidden, "%s is needed to sort by %s, with personal=true.", access.ReadPersonal, f.Key)
	}
	return nil
}

// CheckScope says whether a store can obey the scope.
func CheckScope(s access.Scope) error {
	if n := len(s.Properties); n > MaxProperties {
		return fault.InvalidFields("The scope is not valid.",
			fault.Field{Name: "properties", Detail: fmt.Sprintf("has %d properties, %d are allowed", n, MaxProperties)})
	}
	return nil
}
