package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/internal/fault"
)

const exportsPath = "/api/v1/exports"

type createInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"200" pattern:"^[!-~]+$" doc:"Visible ASCII. The same key with the same order gives the same job, for ever; with another order it is a conflict"`
	Body           Order

	request export.Request
}

// Resolve checks what only the gateway can, in one go with huma's own checks.
func (in *createInput) Resolve(ctx huma.Context) []error {
	s := ctx.Context().Value(serverKey{}).(*Server)
	var wrong []ProblemItem
	in.request, wrong = s.orders.request(in.Body)
	errs := make([]error, len(wrong))
	for i, w := range wrong {
		errs[i] = &huma.ErrorDetail{Location: w.Location, Message: w.Message}
	}
	return errs
}

// serverKey finds the gateway in the context of a huma call.
type serverKey struct{}

type jobOutput struct {
	RetryAfter string `header:"Retry-After" doc:"Seconds until it is worth asking again, while the job is alive"`
	Body       JobView
}

type createOutput struct {
	Location   string `header:"Location" doc:"The job"`
	RetryAfter string `header:"Retry-After" doc:"Seconds until it is worth asking, while the job is alive"`
	Body       JobView
}

func (s *Server) createExport(ctx context.Context, in *createInput) (*createOutput, error) {
	scope, err := s.orders.allow(ctx, in.Body, in.request)
	if err != nil {
		return nil, err
	}
	job, err := s.orders.place(ctx, in.request, scope, in.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return &createOutput{Location: s.jobURL(job.ID), RetryAfter: retryAfter(job), Body: s.view(ctx, job)}, nil
}

// retryAfter is a second while there will be news.
func retryAfter(job export.Job) string {
	if job.Status.Final() {
		return ""
	}
	return "1"
}

type jobInput struct {
	ID string `path:"id" maxLength:"64" doc:"The job's id"`
}

// job gives the caller's job; another's is not found.
func (s *Server) job(ctx context.Context, id string) (export.Job, error) {
	return s.jobIf(ctx, id, func(by string) bool { return by == requestOf(ctx).subject })
}

// seenJob gives a job that the caller may see: its own, or anybody's with the permission.
func (s *Server) seenJob(ctx context.Context, id string) (export.Job, error) {
	caller, _ := access.From(ctx)
	return s.jobIf(ctx, id, func(by string) bool { return by == caller.Subject || caller.May(access.ReadAllExports) })
}

func (s *Server) jobIf(ctx context.Context, id string, shown func(requestedBy string) bool) (export.Job, error) {
	job, err := s.cfg.Jobs.Get(ctx, id)
	switch {
	case fault.KindOf(err) == fault.NotFound && err != nil, err == nil && !shown(job.RequestedBy):
		return export.Job{}, fault.New(fault.NotFound, "There is no export %q.", id)
	case err != nil:
		return export.Job{}, fmt.Errorf("get job %s: %w", id, err)
	}
	return job, nil
}

func (s *Server) getExport(ctx context.Context, in *jobInput) (*jobOutput, error) {
	job, err := s.seenJob(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &jobOutput{RetryAfter: retryAfter(job), Body: shownTo(ctx, s.view(ctx, job))}, nil
}

func (s *Server) cancelExport(ctx context.Context, in *jobInput) (*jobOutput, error) {
	job, err := s.job(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !job.Status.Final() {
		if err := s.record(ctx, jobEvent(audit.Cancel, job)); err != nil {
			return nil, err
		}
	}
	job, changed, err := s.cfg.Jobs.Cancel(ctx, in.ID, s.cfg.Now())
	switch {
	case err != nil:
		return nil, fmt.Errorf("cancel job %s: %w", in.ID, err)
	case !changed && job.Status != export.Canceled:
		return nil, fault.New(fault.Conflict, "The export is %s already; it cannot be canceled.", job.Status)
	case changed:
		s.log(ctx).InfoContext(ctx, "export canceled", "job_id", job.ID, "attempt", job.Attempt)
		if err := s.cfg.Queue.Cancel(context.WithoutCancel(ctx), job); err != nil {
			s.log(ctx).WarnContext(ctx, "canceled job left in the queue; its task will find nothing to run", "job_id", job.ID, "error", err)
		}
	}
	return &jobOutput{Body: s.view(ctx, job)}, nil
}

type historyInput struct {
	Status string `query:"status" enum:"queued,running,succeeded,failed,canceled,expired" doc:"Only jobs with this status"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The most jobs of the page"`
	Before string `query:"before" maxLength:"64" doc:"Id of a job: the page has those older than it"`
	All    bool   `query:"all" doc:"Everybody's jobs. Takes the permission exports:read-all"`
}

type historyOutput struct {
	Link string    `header:"Link" doc:"The next page, rel=next, if there may be one"`
	Body []JobView `nullable:"false"`
}

// whose gives whose history is asked for, "" being everybody's, if the caller may see it.
func (s *Server) whose(ctx context.Context, all bool) (string, error) {
	if all {
		return "", s.permit(ctx, access.ReadAllExports)
	}
	return requestOf(ctx).subject, s.permit(ctx, access.CreateExports)
}

func (s *Server) exportHistory(ctx context.Context, in *historyInput) (*historyOutput, error) {
	whose, err := s.whose(ctx, in.All)
	if err != nil {
		return nil, err
	}
	jobs, err := s.cfg.Jobs.History(ctx, export.History{
		RequestedBy: whose, Status: export.Status(in.Status), Before: in.Before, Limit: in.Limit,
	})
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	out := &historyOutput{Body: make([]JobView, len(jobs))}
	for i, job := range jobs {
		out.Body[i] = shownTo(ctx, withoutPlaces(s.plainView(ctx, job)))
	}
	if len(jobs) == in.Limit {
		next := url.Values{"before": {jobs[len(jobs)-1].ID}, "limit": {strconv.Itoa(in.Limit)}}
		if in.Status != "" {
			next.Set("status", in.Status)
		}
		if in.All {
			next.Set("all", "true")
		}
		out.Link = fmt.Sprintf("<%s%s?%s>; rel=\"next\"", s.cfg.BaseURL, exportsPath, next.Encode())
	}
	return out, nil
}

func (s *Server) exportRoutes() {
	register(s, huma.Operation{
		OperationID: "create-export", Method: http.MethodPost, Path: exportsPath, Tags: []string{"Exports"},
		DefaultStatus: http.StatusAccepted, MaxBodyBytes: 1 << 20,
		Summary: "Ask for an export",
		Description: "Makes a job and answers at once, with its address in Location. Asking the same again while that job is alive, " +
			"as by a double click, gives the same job: again 202, with the same Location. Where you have as many exports waiting or running as you " +
			"may have, the answer is 429; where all users have as many, or as many rows, as the service takes on at once, it is 503 with the type " +
			"urn:rowmill:problem:queue-full. Retry-After says when there may be room.",
	}, s.createExport, 400, 401, 403, 408, 409, 413, 415, 500, 503)
	register(s, huma.Operation{
		OperationID: "list-exports", Method: http.MethodGet, Path: exportsPath, Tags: []string{"Exports"},
		Summary: "The history, newest first", RejectUnknownQueryParameters: true,
	}, s.exportHistory, 400, 401, 500, 503)
	register(s, huma.Operation{
		OperationID: "get-export", Method: http.MethodGet, Path: exportsPath + "/{id}", Tags: []string{"Exports"},
		Summary: "A job and how it fares", RejectUnknownQueryParameters: true,
	}, s.getExport, 400, 401, 404, 500, 503)
	register(s, huma.Operation{
		OperationID: "cancel-export", Method: http.MethodDelete, Path: exportsPath + "/{id}", Tags: []string{"Exports"},
		DefaultStatus: http.StatusOK, Summary: "Cancel a job", RejectUnknownQueryParameters: true,
		Description: "A job that is queued or running is canceled for good. Canceling it again changes nothing; one that has ended otherwise is a conflict.",
	}, s.cancelExport, 400, 401, 404, 409, 500, 503)
	s.fileRoutes()
	s.eventRoutes()
	s.preflightRoutes()
	s.againRoutes()
	s.linkRoutes()
}
