package audit

import (
	"fmt"
	"slices"
	"time"

	"rowmill/internal/fault"
)

// MaxEvents is the most events of one page.
const MaxEvents = 500

// Query is a part of the events, newest first.
type Query struct {
	Actor    string    // subject; "" for everybody's
	Action   Action    // "" for all
	JobID    string    // "" for all
	From, To time.Time // From <= At < To; zero: no bound
	Before   string    // id of an event: those older than it; "" for the newest
	Limit    int       // 1 to MaxEvents
}

// Check names everything that is wrong with q, as Invalid.
func (q Query) Check() error {
	var wrong []fault.Field
	if q.Limit < 1 || q.Limit > MaxEvents {
		wrong = append(wrong, fault.Field{Name: "limit", Detail: fmt.Sprintf("%d is not from 1 to %d", q.Limit, MaxEvents)})
	}
	if q.Action != "" && !slices.Contains(Actions(), q.Action) {
		wrong = append(wrong, fault.Field{Name: "action", Detail: fmt.Sprintf("there is no action %q", q.Action)})
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		wrong = append(wrong, fault.Field{Name: "from", Detail: "is not before to"})
	}
	if len(wrong) > 0 {
		return fault.InvalidFields("The query of the audit is not valid.", wrong...)
	}
	return nil
}
