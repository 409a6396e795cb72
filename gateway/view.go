package gateway

import (
	"context"
	"fmt"
	"time"

	"rowmill/export"
	"rowmill/export/sheet"
)

// JobView is a job as its owner sees it.
type JobView struct {
	ID           string          `json:"id"`
	Status       export.Status   `json:"status" enum:"queued,running,succeeded,failed,canceled,expired"`
	Phase        export.Phase    `json:"phase,omitempty" enum:"snapshot,fetch,verify,publish" doc:"Of a running job"`
	Percent      int             `json:"percent" minimum:"0" maximum:"100" doc:"100 exactly when the file can be downloaded; 0 again once it has expired"`
	RowsExpected int64           `json:"rows_expected" doc:"An estimate while queued (0: not known), then the snapshot's total"`
	RowsWritten  int64           `json:"rows_written"`
	Queue        export.Queue    `json:"queue" enum:"small,large"`
	Place        int64           `json:"place,omitempty" doc:"In the queue, the next to run being 1. Only while queued, and not in the history"`
	Notice       *Notice         `json:"notice,omitempty" doc:"What the owner should know, such as that nobody works on it"`
	Attempt      int             `json:"attempt"`
	RequestedBy  string          `json:"requested_by"`
	Request      export.Request  `json:"request"`
	Personal     bool            `json:"personal" doc:"The file has personal data in the clear; else they are masked"`
	CreatedAt    time.Time       `json:"created_at"`
	StartedAt    time.Time       `json:"started_at,omitzero"`
	FinishedAt   time.Time       `json:"finished_at,omitzero"`
	ExpiresAt    time.Time       `json:"expires_at,omitzero" doc:"When the file is removed"`
	Failure      *FailureView    `json:"failure,omitempty" doc:"Why it failed, or why the last attempt did"`
	Receipt      *export.Receipt `json:"receipt,omitempty" doc:"What the file holds. The history leaves the places of its losses out"`
	Links        Links           `json:"links"`
}

// Notice is a thing to know that is no failure.
type Notice struct {
	Code    string    `json:"code" enum:"no-worker" doc:"Stable"`
	Message string    `json:"message"`
	Since   time.Time `json:"since" doc:"When a worker was last alive, or when the job was made if none ever was"`
}

// FailureView says why a job failed.
type FailureView struct {
	Code    string `json:"code" doc:"Stable"`
	Message string `json:"message"`
}

// Links are what can be done with a job as it stands.
type Links struct {
	Self   string `json:"self"`
	Events string `json:"events,omitempty" doc:"Server-sent events, while it is alive"`
	File   string `json:"file,omitempty" doc:"The file, once it can be downloaded"`
	Cancel string `json:"cancel,omitempty" doc:"DELETE this to cancel it, while it is alive"`
}

// standing gives the job's status now: a file whose time is over counts as
// expired, even if the sweeper has not come by yet.
func standing(job export.Job, now time.Time) export.Status {
	if job.Status == export.Succeeded && !job.ExpiresAt.IsZero() && !now.Before(job.ExpiresAt) {
		return export.Expired
	}
	return job.Status
}

// view shows a job with its place and the notice. What the board does not say
// is left out: the job itself is what was asked for.
func (s *Server) view(ctx context.Context, job export.Job) JobView {
	v := s.plainView(ctx, job)
	if job.Status != export.Queued {
		return v
	}
	if ahead, err := s.cfg.Board.Ahead(ctx, job); err != nil {
		s.log(ctx).WarnContext(ctx, "place in the queue not known", "job_id", job.ID, "error", err)
	} else {
		v.Place = ahead + 1
	}
	now := s.cfg.Now()
	if workers, err := s.cfg.Board.Workers(ctx, now); err != nil {
		s.log(ctx).WarnContext(ctx, "workers not known", "job_id", job.ID, "error", err)
	} else {
		v.Notice = noWorker(job, workers, now)
	}
	return v
}

// plainView shows a job by its row alone.
func (s *Server) plainView(ctx context.Context, job export.Job) JobView {
	status := standing(job, s.cfg.Now())
	v := JobView{
		ID: job.ID, Status: status, Percent: job.Percent(),
		RowsExpected: job.RowsExpected, RowsWritten: job.RowsWritten,
		Queue: job.Queue, Attempt: job.Attempt, RequestedBy: job.RequestedBy, Request: named(job), Personal: job.Scope.Personal,
		CreatedAt: job.CreatedAt, StartedAt: job.StartedAt, FinishedAt: job.FinishedAt, ExpiresAt: job.ExpiresAt,
		Receipt: job.Receipt, Links: Links{Self: s.jobURL(job.ID)},
	}
	v.Request.Filter = filterFor(ctx, v.Request.Filter, job.Scope.Personal)
	if job.Failure != nil {
		v.Failure = &FailureView{Code: job.Failure.Code, Message: job.Failure.Message}
	}
	switch {
	case !status.Final():
		v.Links.Events, v.Links.Cancel = v.Links.Self+"/events", v.Links.Self
	case status == export.Succeeded:
		v.Links.File = v.Links.Self + "/file"
	case status == export.Expired:
		v.Percent = 0
	}
	if status == export.Running {
		v.Phase = job.Phase
	}
	return v
}

// withoutPlaces gives the view with the losses counted but not listed: a page of
// the history could otherwise list 200,000.
func withoutPlaces(v JobView) JobView {
	if v.Receipt != nil && len(v.Receipt.Losses.Places) > 0 {
		r := *v.Receipt
		r.Losses = sheet.Losses{Counts: r.Losses.Counts}
		v.Receipt = &r
	}
	return v
}

// shownTo leaves out the links that are its owner's alone.
func shownTo(ctx context.Context, v JobView) JobView {
	if v.RequestedBy != requestOf(ctx).subject {
		v.Links = Links{Self: v.Links.Self}
	}
	return v
}

func (s *Server) jobURL(id string) string { return s.cfg.BaseURL + exportsPath + "/" + id }

// noWorker says that nobody is there to run the job, and for how long. A worker
// that has only just started has not been heard of yet, so a young job waits first.
func noWorker(job export.Job, w export.Workers, now time.Time) *Notice {
	if w.Alive > 0 || now.Sub(job.CreatedAt) < export.WorkerLost {
		return nil
	}
	n := &Notice{Code: "no-worker", Since: job.CreatedAt}
	what := "No worker has run since this export was asked for, %s ago."
	if !w.LastSeen.IsZero() {
		n.Since = w.LastSeen
		what = "No worker is running; the last one was seen %s ago."
	}
	n.Message = fmt.Sprintf(what+" The export starts as soon as one runs.", roughly(now.Sub(n.Since)))
	return n
}

// roughly gives d in its largest unit, so that a watcher is not told every second.
func roughly(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		switch n := int64(d / unit.length); {
		case n == 1:
			return "1 " + unit.name
		case n > 1:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return "less than a minute"
}
