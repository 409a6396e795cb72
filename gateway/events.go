package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"rowmill/export"
	"rowmill/internal/fault"
)

const (
	heartbeat = 15 * time.Second // under the 30 to 60 s after which proxies drop a silent connection
	// sendTimeout is how long a client may take to read an event.
	sendTimeout = 10 * time.Second
)

func (s *Server) exportEvents(ctx context.Context, in *jobInput) (*huma.StreamResponse, error) {
	job, err := s.job(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if s.isDraining() {
		return nil, fault.New(fault.Unavailable, "The server is shutting down. Connect again.")
	}
	subject := requestOf(ctx).subject
	if err := s.streams.take(subject); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer s.streams.give(subject)
		w := humaecho.Unwrap(hc).Response()
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
		w.WriteHeader(http.StatusOK)
		e := &eventStream{w: w, rc: http.NewResponseController(w)}
		if err := s.watch(ctx, e, job); err != nil && ctx.Err() == nil {
			s.log(ctx).WarnContext(ctx, "event stream broken off", "job_id", job.ID, "error", err)
		}
	}}, nil
}

// watch sends the job whenever it has changed, until it is final, the client
// goes or the server drains. An error ends the stream: the client connects again.
func (s *Server) watch(ctx context.Context, e *eventStream, job export.Job) error {
	poll, beat := time.NewTicker(s.cfg.PollInterval), time.NewTicker(heartbeat)
	defer poll.Stop()
	defer beat.Stop()
	for {
		if err := e.job(s.view(ctx, job)); err != nil || job.Status.Final() {
			return err
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case <-s.draining:
				return e.send([]byte(": the server is shutting down\n\n"))
			case <-beat.C:
				if err := e.send([]byte(": still here\n\n")); err != nil {
					return err
				}
			case <-poll.C:
				waiting = false
			}
		}
		var err error
		if job, err = s.job(ctx, job.ID); err != nil {
			return err
		}
	}
}

// eventStream writes server-sent events.
type eventStream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	last []byte
}

// job sends the view unless it is what was sent last.
func (e *eventStream) job(v JobView) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if bytes.Equal(data, e.last) {
		return nil
	}
	e.last = data
	return e.send(fmt.Appendf(nil, "event: job\ndata: %s\n\n", data))
}

// send writes and flushes. Each write has a deadline of its own, so that the
// stream may be long and a client that no longer reads cannot hold it.
func (e *eventStream) send(b []byte) error {
	if err := e.rc.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	return e.rc.Flush()
}

func (s *Server) eventRoutes() {
	register(s, huma.Operation{
		OperationID: "watch-export", Method: http.MethodGet, Path: exportsPath + "/{id}/events", Tags: []string{"Exports"},
		Summary: "Watch a job", RejectUnknownQueryParameters: true,
		Description: "Server-sent events: an event `job`, whose data is the job as get-export gives it, at once and whenever it has changed. " +
			"The stream ends after a final state; a client should close then, and connect again if it ends before.",
		Responses: response("A stream of events", "text/event-stream", text("")),
	}, s.exportEvents, 400, 401, 404, 500, 503)
}
