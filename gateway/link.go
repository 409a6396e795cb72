package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/fault"
)

const linkPath = "/api/v1/files/{token}"

// signedRoutes, as echo names them, take a token in the path in place of an identity.
var signedRoutes = map[string]bool{"/api/v1/files/:token": true}

// LinkView is a signed link to a file.
type LinkView struct {
	URL       string    `json:"url" doc:"Whoever has it may read the file; it names nobody"`
	ExpiresAt time.Time `json:"expires_at"`
}

type linkOutput struct {
	Location string `header:"Location" doc:"The link"`
	Body     LinkView
}

// mayHave returns Forbidden where the caller may no longer have what the job's file holds.
func (s *Server) mayHave(ctx context.Context, job export.Job) error {
	caller, _ := access.From(ctx)
	if err := access.GrantOf(caller, time.Time{}).Allows(job.Scope); err != nil {
		return s.deny(ctx, "file of "+job.ID, err)
	}
	return nil
}

func (s *Server) linkExport(ctx context.Context, in *jobInput) (*linkOutput, error) {
	job, err := s.job(ctx, in.ID)
	if err == nil {
		err = s.mayHave(ctx, job)
	}
	if err == nil {
		err = downloadable(standing(job, s.cfg.Now()), job)
	}
	if err == nil {
		err = s.record(ctx, linkEvent(job))
	}
	if err != nil {
		return nil, err
	}
	expires := s.cfg.Now().UTC().Add(linkLife).Truncate(time.Second)
	if !job.ExpiresAt.IsZero() && job.ExpiresAt.Before(expires) {
		expires = job.ExpiresAt.UTC().Truncate(time.Second)
	}
	url := s.cfg.BaseURL + "/api/v1/files/" + s.links.token(job, expires)
	return &linkOutput{Location: url, Body: LinkView{URL: url, ExpiresAt: expires}}, nil
}

type linkedInput struct {
	Token   string `path:"token" maxLength:"256" doc:"Of the link"`
	Range   string `header:"Range" doc:"A part of the file (RFC 9110)"`
	IfRange string `header:"If-Range" doc:"The ETag that the part must be of"`
}

// linkedFile answers a signed link. The owner counts as the caller.
func (s *Server) linkedFile(ctx context.Context, in *linkedInput) (*huma.StreamResponse, error) {
	job, err := s.linkedJob(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	requestOf(ctx).linked = true
	return s.sendFile(access.With(ctx, access.Principal{Subject: job.RequestedBy, Name: job.RequestedBy}), job)
}

// linkedJob gives the job that the token leads to, if its owner may still have it.
// What is wrong with a token that is not authentic is nobody's to know.
func (s *Server) linkedJob(ctx context.Context, token string) (export.Job, error) {
	l, err := s.links.read(token)
	if err != nil {
		return export.Job{}, fault.Wrap(err, fault.NotFound, "There is no such link.")
	}
	if !s.cfg.Now().Before(l.expires) {
		return export.Job{}, fault.New(fault.Gone, "The link has expired. Ask for another.")
	}
	job, err := s.cfg.Jobs.Get(ctx, l.jobID)
	if err != nil {
		return export.Job{}, err
	}
	requestOf(ctx).subject = job.RequestedBy
	if err := s.rates.take(job.RequestedBy); err != nil {
		return export.Job{}, err
	}
	if err := downloadable(standing(job, s.cfg.Now()), job); err != nil {
		return export.Job{}, err
	}
	if !l.leadsTo(job) {
		return export.Job{}, fault.New(fault.NotFound, "There is no such link.")
	}
	if s.keeper != nil {
		if err := s.keeper.Holds(ctx, job); err != nil {
			return export.Job{}, err
		}
	}
	return job, nil
}

func (s *Server) linkRoutes() {
	register(s, huma.Operation{
		OperationID: "link-export", Method: http.MethodPost, Path: exportsPath + "/{id}/link", Tags: []string{"Exports"},
		DefaultStatus: http.StatusCreated, Summary: "Make a link to the file", RejectUnknownQueryParameters: true,
		Description: "A link that leads to the job's file without further identity, for 10 minutes: for a browser's own download.",
	}, s.linkExport, 400, 401, 403, 404, 409, 410, 500, 503)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		register(s, huma.Operation{
			OperationID: map[string]string{http.MethodGet: "download-linked-file", http.MethodHead: "head-linked-file"}[method],
			Method:      method, Path: linkPath, Tags: []string{"Exports"},
			Summary: "The file of a link", Responses: fileResponses(method), RejectUnknownQueryParameters: true,
			Description: "As download-export. The link ends with its file, and when the one who made it may no longer have it.",
		}, s.linkedFile, 400, 403, 404, 409, 410, 429, 500, 503)
	}
}
