package audit

import (
	"slices"
	"strings"
	"unicode/utf8"

	"rowmill/internal/fault"
)

// Bounds of an event's texts. What names somebody or something is never cut, for
// it would name another; what only explains is.
const (
	maxName   = 255 // characters of Actor, cut: of ActorName
	maxText   = 500 // characters of Reason and Detail, cut
	maxAgent  = 256 // bytes of UserAgent, cut
	maxShort  = 64  // bytes of ID, JobID, Dataset, Address and SHA256
	maxLonger = 128 // bytes of RequestID and Sort
)

// Actions gives all actions.
func Actions() []Action {
	return []Action{Create, Download, Link, Cancel, Revoke, Deny, SignIn, SignOut, Read, HomeChange}
}

// Bounded gives e as a store keeps it: valid UTF-8, explanations cut to their
// bounds. An event without an id, a time or a known action, or with a name that is
// too long, is Invalid.
func (e Event) Bounded() (Event, error) {
	for _, s := range []*string{&e.ActorName, &e.UserAgent, &e.Reason, &e.Detail, &e.RequestID, &e.Address, &e.Sort} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	e.ActorName, e.Reason, e.Detail = cut(e.ActorName, maxName), cut(e.Reason, maxText), cut(e.Detail, maxText)
	e.UserAgent = strings.ToValidUTF8(e.UserAgent[:min(len(e.UserAgent), maxAgent)], "")
	fits := utf8.RuneCountInString(e.Actor) <= maxName && utf8.ValidString(e.Actor)
	for _, s := range []string{e.ID, e.JobID, e.Dataset, e.Address, e.SHA256} {
		fits = fits && len(s) <= maxShort
	}
	fits = fits && len(e.RequestID) <= maxLonger && len(e.Sort) <= maxLonger
	if e.ID == "" || e.At.IsZero() || !slices.Contains(Actions(), e.Action) || !fits {
		return Event{}, fault.New(fault.Invalid, "The event %s of the audit is not valid.", e.Action)
	}
	return e, nil
}

// cut gives the first limit characters of s.
func cut(s string, limit int) string {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}
