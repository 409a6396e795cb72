package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/audit"
	"rowmill/internal/fault"
)

const auditPath = "/api/v1/audit"

// EventView is an event as an auditor sees it.
type EventView struct {
	ID        string              `json:"id"`
	At        time.Time           `json:"at"`
	Actor     string              `json:"actor" doc:"The caller's subject; empty if not known"`
	ActorName string              `json:"actor_name,omitempty"`
	Address   string              `json:"address,omitempty" doc:"The caller's IP address"`
	UserAgent string              `json:"user_agent,omitempty"`
	RequestID string              `json:"request_id,omitempty"`
	Action    audit.Action        `json:"action"`
	JobID     string              `json:"job_id,omitempty"`
	Dataset   string              `json:"dataset,omitempty"`
	Filter    map[string][]string `json:"filter,omitempty" doc:"Of an export, or of the audit itself where that was read"`
	Sort      string              `json:"sort,omitempty" doc:"Field and order"`
	Columns   []string            `json:"columns,omitempty" nullable:"false"`
	Personal  bool                `json:"personal" doc:"Personal data in the clear"`
	Reason    string              `json:"reason,omitempty" doc:"Which the caller gave"`
	Rows      int64               `json:"rows,omitempty" doc:"Expected where an export was asked for, else those of the file"`
	Bytes     int64               `json:"bytes,omitempty" doc:"That were to be sent"`
	SHA256    string              `json:"sha256,omitempty" doc:"Of the whole file"`
	Detail    string              `json:"detail,omitempty" doc:"The part of a file that was read, the permission that was wanted, or what a section of the home board became"`
}

// eventView shows an event as the caller of ctx may read it.
func eventView(ctx context.Context, e audit.Event) EventView {
	e.Filter = filterFor(ctx, e.Filter, e.Personal)
	return EventView(e)
}

// AuditFilter says which events are meant. (huma reads embedded types only if they are exported.)
type AuditFilter struct {
	Actor  string `query:"actor" maxLength:"255" doc:"Only events of the caller with this subject"`
	Action string `query:"action" enum:"export.create,export.download,export.link,export.cancel,export.revoke,deny,sign-in,sign-out,audit.read,home.change" doc:"Only events of this kind"`
	Job    string `query:"job" maxLength:"64" doc:"Only events of this job"`
	From   string `query:"from" maxLength:"40" doc:"Only events at or after this moment (RFC 3339), or on or after this day of the service's time zone" example:"2026-11-01"`
	To     string `query:"to" maxLength:"40" doc:"Only events before this moment (RFC 3339), or on or before this day" example:"2026-11-30"`
}

// query gives what the filter means, and names each moment that is none.
func (f AuditFilter) query(zone string) (audit.Query, error) {
	loc, err := location(zone)
	if err != nil {
		return audit.Query{}, err
	}
	q := audit.Query{Actor: f.Actor, Action: audit.Action(f.Action), JobID: f.Job}
	var wrong []fault.Field
	for _, m := range []struct {
		name, text string
		to         *time.Time
		days       int // the day itself is meant too
	}{{"from", f.From, &q.From, 0}, {"to", f.To, &q.To, 1}} {
		day, dayErr := time.ParseInLocation(time.DateOnly, m.text, loc)
		moment, err := time.Parse(time.RFC3339, m.text)
		switch {
		case m.text == "":
		case dayErr == nil:
			*m.to = day.AddDate(0, 0, m.days)
		case err == nil:
			*m.to = moment
		default:
			wrong = append(wrong, fault.Field{Name: m.name, Detail: fmt.Sprintf("%q is neither a day like 2026-11-30 nor a moment like 2026-11-30T09:00:00Z", m.text)})
		}
	}
	if len(wrong) > 0 {
		return q, fault.InvalidFields("The query of the audit is not valid.", wrong...)
	}
	return q, nil
}

// values gives the parameters that are set, as they were written.
func (f AuditFilter) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"actor": f.Actor, "action": f.Action, "job": f.Job, "from": f.From, "to": f.To} {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

type auditInput struct {
	AuditFilter
	Before string `query:"before" maxLength:"64" doc:"Id of an event: the page has those older than it"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"The most events of the page"`
}

type auditOutput struct {
	Link string      `header:"Link" doc:"The next page, rel=next, if there may be one"`
	Body []EventView `nullable:"false"`
}

func (s *Server) listAudit(ctx context.Context, in *auditInput) (*auditOutput, error) {
	q, err := in.query(s.cfg.DefaultTimeZone)
	if err != nil {
		return nil, err
	}
	q.Before, q.Limit = in.Before, in.Limit
	events, err := s.cfg.AuditLog.List(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("read the audit: %w", err)
	}
	if err := s.recordReading(ctx, "list", in.values()); err != nil {
		return nil, err
	}
	out := &auditOutput{Body: make([]EventView, len(events))}
	for i, e := range events {
		out.Body[i] = eventView(ctx, e)
	}
	if len(events) == in.Limit {
		out.Link = s.nextLink(auditPath, in.values(), events[len(events)-1].ID, in.Limit)
	}
	return out, nil
}

// nextLink is the Link header that leads to what is older than the id.
func (s *Server) nextLink(path string, values url.Values, before string, limit int) string {
	next := maps.Clone(values)
	next.Set("before", before)
	next.Set("limit", strconv.Itoa(limit))
	return fmt.Sprintf("<%s%s?%s>; rel=\"next\"", s.cfg.BaseURL, path, next.Encode())
}

// recordReading records that the audit is read, before its reader sees any of it.
func (s *Server) recordReading(ctx context.Context, how string, what url.Values) error {
	return s.record(ctx, audit.Event{Action: audit.Read, Filter: what, Detail: how})
}

func (s *Server) auditRoutes() {
	if s.cfg.AuditLog == nil || s.cfg.Takers == nil {
		return
	}
	register(s, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: auditPath, Tags: []string{"Audit"},
		Summary: "Who did what, newest first", RejectUnknownQueryParameters: true,
		Description: "Takes the permission audit:read, and is itself recorded. Without pii:read the guests' data that filters name are masked.",
	}, s.listAudit, 400, 401, 403, 404, 500, 503)
	register(s, huma.Operation{
		OperationID: "audit-csv", Method: http.MethodGet, Path: auditPath + ".csv", Tags: []string{"Audit"},
		Summary: "All of it as a CSV file", RejectUnknownQueryParameters: true,
		Description: "The events that the filter means, newest first, as of now. RFC 4180, UTF-8 with BOM; texts are guarded against being taken for formulas.",
		Responses:   response("The file", "text/csv", text("binary")),
	}, s.auditCSV, 400, 401, 403, 500, 503)
	register(s, huma.Operation{
		OperationID: "reservation-takers", Method: http.MethodGet, Path: auditPath + "/reservations/{id}", Tags: []string{"Audit"},
		Summary: "Who took a reservation out", RejectUnknownQueryParameters: true,
		Description: "Every published file that has the reservation in it, the newest job first, with who asked for it and who read it. " +
			"A reservation that nobody took out, or that does not exist, gives an empty list.",
	}, s.reservationTakers, 400, 401, 403, 500, 503)
}
