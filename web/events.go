package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rowmill/audit"
	"rowmill/internal/fault"
)

// auditPage is a part of the audit.
type auditPage struct {
	Events      []eventRow
	Takings     []audit.Taking
	Actions     []option
	Query       url.Values // the filter as it was given
	Next        string
	CSV         string
	Reservation string // the one that was asked for; "" if none was
	Problem     *problem
}

// eventRow is an event as it is shown.
type eventRow struct {
	audit.Event
	Who     string
	What    string
	Filter  []string
	Asked   bool // the event knows its filter
	Columns string
}

const eventsLimit = 100

func (p *pages) audit(r *http.Request, f *frame) error {
	if p.cfg.Events == nil || p.cfg.Takers == nil {
		return fault.New(fault.NotFound, "No audit is kept here.")
	}
	page := &auditPage{Query: f.Query, Reservation: strings.TrimSpace(f.Query.Get("reservation"))}
	f.View, f.Title, f.Page = "audit", f.T("audit.title"), page
	for _, action := range audit.Actions() {
		page.Actions = append(page.Actions, option{Value: string(action), Text: f.T("action." + string(action)), On: f.Query.Get("action") == string(action)})
	}
	if err := p.cfg.Record(r.Context(), audit.Event{Action: audit.Read, Detail: f.Query.Encode()}); err != nil {
		return fault.Wrap(err, fault.Unavailable, "The audit cannot be written, so it cannot be read. Try again.")
	}
	events, err := p.events(r, page)
	if err != nil {
		page.Problem, f.Status = p.problem(r.Context(), f.speech, err)
		return nil
	}
	for _, e := range events {
		page.Events = append(page.Events, f.eventRow(e))
	}
	return nil
}

// events reads what the page's address asks for.
func (p *pages) events(r *http.Request, page *auditPage) ([]audit.Event, error) {
	if page.Reservation != "" {
		id, err := strconv.ParseInt(page.Reservation, 10, 64)
		if err != nil || id < 1 {
			return nil, fault.InvalidFields("The reservation is not valid.", fault.Field{Name: "id", Detail: "is the number of a reservation, not its code"})
		}
		page.Takings, err = p.cfg.Takers.Takers(r.Context(), audit.TakersQuery{Dataset: "reservations", ID: id, Limit: audit.MaxTakings})
		return nil, err
	}
	q := audit.Query{Actor: page.Query.Get("actor"), Action: audit.Action(page.Query.Get("action")), JobID: page.Query.Get("job"), Before: page.Query.Get("before"), Limit: eventsLimit + 1}
	kept := url.Values{}
	for _, name := range []string{"actor", "action", "job"} {
		if v := page.Query.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	var err error
	api := url.Values{}
	for _, bound := range []struct {
		name string
		to   *time.Time
		days int // the last day counts in
	}{{"from", &q.From, 0}, {"to", &q.To, 1}} {
		text := page.Query.Get(bound.name)
		if text == "" {
			continue
		}
		kept.Set(bound.name, text)
		if *bound.to, err = time.ParseInLocation(time.DateOnly, text, p.cfg.Location); err != nil {
			return nil, fault.InvalidFields("The days are not valid.", fault.Field{Name: bound.name, Detail: "is a day as 2006-01-02"})
		}
		*bound.to = bound.to.AddDate(0, 0, bound.days)
		api.Set(bound.name, bound.to.UTC().Format(time.RFC3339))
	}
	for _, name := range []string{"actor", "action", "job"} {
		if kept.Has(name) {
			api.Set(name, kept.Get(name))
		}
	}
	page.CSV = "/api/v1/audit.csv?" + api.Encode()
	events, err := p.cfg.Events.List(r.Context(), q)
	if len(events) > eventsLimit {
		events = events[:eventsLimit]
		kept.Set("before", events[eventsLimit-1].ID)
		page.Next = "/audit?" + kept.Encode()
	}
	return events, err
}

// Value gives a filter's value as it was given.
func (a *auditPage) Value(name string) string { return a.Query.Get(name) }

func (f *frame) eventRow(e audit.Event) eventRow {
	row := eventRow{Event: e, Who: e.ActorName, What: f.Or("action.", string(e.Action)), Filter: f.conditions(f.filter(e.Filter, e.Personal)), Asked: e.Action == audit.Create, Columns: strings.Join(f.columns(e.Columns), ", ")}
	if row.Who == "" {
		row.Who = e.Actor
	}
	return row
}

// about tells what Rowmill is and how a program calls it.
func (p *pages) about(_ *http.Request, f *frame) error {
	f.View, f.Title = "about", f.T("about.title")
	f.Page = map[string]any{"Base": p.cfg.BaseURL, "Days": int(p.cfg.Retention.Hours() / 24)}
	return nil
}
