package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/internal/fault"
)

// record keeps an event of the call of ctx: who, when and from where are added.
func (s *Server) record(ctx context.Context, e audit.Event) error {
	if s.cfg.Audit == nil {
		return nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make an event id: %w", err)
	}
	call := requestOf(ctx)
	caller, _ := access.From(ctx)
	e.ID, e.At = id.String(), s.cfg.Now().UTC()
	e.Actor, e.ActorName = caller.Subject, caller.Name
	e.Address, e.UserAgent, e.RequestID = call.address, call.userAgent, call.id
	if err := s.cfg.Audit.Record(ctx, e); err != nil {
		return fault.Wrap(fmt.Errorf("record %s: %w", e.Action, err), fault.Unavailable,
			"It cannot be recorded just now that you do this, so it was not done. Please try again.")
	}
	return nil
}

// jobEvent is what every event of a job says of it.
func jobEvent(action audit.Action, job export.Job) audit.Event {
	return audit.Event{
		Action: action, JobID: job.ID, Dataset: job.Request.Dataset,
		Personal: job.Scope.Personal, Reason: job.Request.Reason,
	}
}

// createEvent is the event of an export that is about to be made of the job.
func createEvent(job export.Job) audit.Event {
	e, r := jobEvent(audit.Create, job), job.Request
	e.Filter, e.Sort, e.Columns, e.Rows = r.Filter, strings.TrimSpace(r.Sort+" "+r.Order), r.Columns, job.RowsExpected
	return e
}

// linkEvent is the event of a link to the job's file.
func linkEvent(job export.Job) audit.Event {
	e := jobEvent(audit.Link, job)
	e.Rows, e.Bytes, e.SHA256 = job.RowsWritten, job.File.Size, job.File.SHA256
	return e
}

// downloadEvent is the event of a file of which so many bytes are about to be sent.
func downloadEvent(job export.Job, sent int64, part string) audit.Event {
	e := jobEvent(audit.Download, job)
	e.Rows, e.Bytes, e.SHA256, e.Detail = job.RowsWritten, sent, job.File.SHA256, part
	return e
}
