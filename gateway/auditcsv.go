package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"rowmill/audit"
	"rowmill/export/sheet"
	"rowmill/internal/table"
)

type auditCSVInput struct{ AuditFilter }

func (s *Server) auditCSV(ctx context.Context, in *auditCSVInput) (*huma.StreamResponse, error) {
	q, err := in.query(s.cfg.DefaultTimeZone)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	if q.To.IsZero() || q.To.After(now) {
		q.To = now // as it was when it was asked for, without this reading of it
	}
	if err := s.recordReading(ctx, "csv", in.values()); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humaecho.Unwrap(hc)
		h := c.Response().Header()
		h.Set("Content-Type", sheet.CSV.ContentType())
		h.Set("Content-Disposition", disposition("audit_"+now.UTC().Format("2006-01-02")+".csv", "audit"))
		err := writeEvents(c.Response(), shownEvents(ctx, s.cfg.AuditLog.All(ctx, q)))
		switch {
		case err == nil:
		case !c.Response().Committed:
			h.Del("Content-Disposition")
			s.writeError(fmt.Errorf("read the audit: %w", err), c) //nolint:contextcheck // it takes the request's, which c has
		default:
			s.log(ctx).ErrorContext(ctx, "audit broken off", "error", err)
			panic(http.ErrAbortHandler) // or the client would take it for whole
		}
	}}, nil
}

var eventColumns = []sheet.Column{
	{Title: "id"}, {Title: "at", Type: table.Time}, {Title: "actor"}, {Title: "actor_name"}, {Title: "address"}, {Title: "user_agent"},
	{Title: "request_id"}, {Title: "action"}, {Title: "job_id"}, {Title: "dataset"}, {Title: "filter"}, {Title: "sort"}, {Title: "columns"},
	{Title: "personal", Type: table.Bool}, {Title: "reason"}, {Title: "rows", Type: table.Integer}, {Title: "bytes", Type: table.Integer},
	{Title: "sha256"}, {Title: "detail"},
}

func eventRow(e audit.Event) (table.Row, error) {
	filter := table.Null()
	if len(e.Filter) > 0 {
		text, err := json.Marshal(e.Filter)
		if err != nil {
			return table.Row{}, fmt.Errorf("encode the filter of event %s: %w", e.ID, err)
		}
		filter = table.TextOf(string(text))
	}
	words := func(s string) table.Value {
		if s == "" {
			return table.Null()
		}
		return table.TextOf(s)
	}
	return table.Row{Values: []table.Value{
		words(e.ID), table.TimeOf(e.At), words(e.Actor), words(e.ActorName), words(e.Address), words(e.UserAgent),
		words(e.RequestID), words(string(e.Action)), words(e.JobID), words(e.Dataset), filter, words(e.Sort), words(strings.Join(e.Columns, " ")),
		table.BoolOf(e.Personal), words(e.Reason), table.IntegerOf(e.Rows), table.IntegerOf(e.Bytes),
		words(e.SHA256), words(e.Detail),
	}}, nil
}

// csvRows is how many events are held before they are written.
const csvRows = 200

// writeEvents writes events as a CSV file. Nothing is written before the first
// csvRows of them are there, so that an audit that cannot be read is an error and
// no empty file.
func writeEvents(w io.Writer, events iter.Seq2[audit.Event, error]) error {
	enc, err := sheet.New(w, sheet.Spec{Format: sheet.CSV, Name: "audit", Columns: eventColumns})
	if err != nil {
		return err
	}
	rows := make([]table.Row, 0, csvRows)
	for e, err := range events {
		if err != nil {
			return err
		}
		row, err := eventRow(e)
		if err != nil {
			return err
		}
		if rows = append(rows, row); len(rows) == csvRows {
			if err := appendEvents(enc, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if err := appendEvents(enc, rows); err != nil {
		return err
	}
	return enc.Close(sheet.Info{})
}

// shownEvents gives the events as the caller of ctx may read them.
func shownEvents(ctx context.Context, events iter.Seq2[audit.Event, error]) iter.Seq2[audit.Event, error] {
	return func(yield func(audit.Event, error) bool) {
		for e, err := range events {
			e.Filter = filterFor(ctx, e.Filter, e.Personal)
			if !yield(e, err) {
				return
			}
		}
	}
}

func appendEvents(enc sheet.Encoder, rows []table.Row) error {
	for _, span := range enc.Place(rows) {
		chunk, err := enc.Encode(span)
		if err != nil {
			return err
		}
		if err := enc.Append(chunk); err != nil {
			return err
		}
	}
	return nil
}
