package reservation_test

import (
	"strings"
	"testing"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// Whoever sees masks must not find out what is behind them by asking which rows it matches.
func TestCheckRefusesEveryConditionOnWhatIsMasked(t *testing.T) {
	refused := 0
	for _, f := range reservation.Fields() {
		for _, op := range f.Operators() {
			q := reservation.Query{Filter: reservation.Filter{Conditions: []reservation.Condition{
				{Field: "status", Op: reservation.Equal, Values: []table.Value{table.TextOf("Canceled")}}, {Field: f.Key, Op: op},
			}}}
			err := q.Check()
			if personal := f.Personal != ""; personal != (fault.KindOf(err) == fault.Forbidden && err != nil) || !personal && err != nil {
				t.Errorf("%s %s: %v", f.Key, op, err)
			} else if personal {
				refused++
				if !strings.HasPrefix(fault.Message(err), "pii:read is needed to filter by "+f.Key) {
					t.Errorf("%s %s: %s", f.Key, op, fault.Message(err))
				}
			}
			q.Scope.Personal = true
			if err := q.Check(); err != nil {
				t.Errorf("%s %s in the clear: %v", f.Key, op, err)
			}
		}
	}
	if refused < 10 {
		t.Errorf("only %d conditions were refused", refused)
	}
}

func TestCheckOfOrderSearchAndProperties(t *testing.T) {
	for _, c := range []struct {
		name string
		q    reservation.Query
		kind fault.Kind
		text string
	}{
		{"nothing", reservation.Query{}, 0, ""},
		{"a search", reservation.Query{Filter: reservation.Filter{Search: "Kim"}}, 0, ""},
		{"an order", reservation.Query{Sort: reservation.Sort{Field: "check_in"}}, 0, ""},
		{"an order by a name", reservation.Query{Sort: reservation.Sort{Field: "guest_name"}}, fault.Forbidden, "pii:read is needed to sort by guest_name"},
		{"an order by a name, in the clear", reservation.Query{Sort: reservation.Sort{Field: "guest_name"}, Scope: access.Scope{Personal: true}}, 0, ""},
		{"no properties", reservation.Query{Scope: access.Scope{Properties: []int64{}}}, 0, ""},
		{"the most properties", reservation.Query{Scope: access.Scope{Properties: make([]int64, reservation.MaxProperties)}}, 0, ""},
		{"too many properties", reservation.Query{Scope: access.Scope{Properties: make([]int64, reservation.MaxProperties+1), Personal: true}}, fault.Invalid, "The scope"},
	} {
		err := c.q.Check()
		if c.text == "" && err == nil {
			continue
		}
		if fault.KindOf(err) != c.kind || !strings.HasPrefix(fault.Message(err), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
