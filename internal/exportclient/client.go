// Package exportclient is a program's way to the public export API: ask for a
// file, follow its job, and download it, resuming where a connection broke.
package exportclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"rowmill/export"
)

// Client talks to one gateway.
type Client struct {
	base  string
	token string
	http  *http.Client
}

// New returns a client of the gateway at base, with a bearer token.
func New(base, token string) *Client {
	return &Client{base: strings.TrimRight(base, "/"), token: token, http: &http.Client{}}
}

// Order is what to ask for; what is left empty is the gateway's to choose.
type Order struct {
	Dataset  string              `json:"dataset,omitempty"`
	Format   string              `json:"format,omitempty"`
	Filter   map[string][]string `json:"filter,omitempty"`
	Sort     string              `json:"sort,omitempty"`
	Order    string              `json:"order,omitempty"`
	Columns  []string            `json:"columns,omitempty"`
	Language string              `json:"language,omitempty"`
	TimeZone string              `json:"time_zone,omitempty"`
	FileName string              `json:"file_name,omitempty"`
	Personal bool                `json:"personal,omitempty"` // in the clear; else personal data are masked
	Reason   string              `json:"reason,omitempty"`   // for personal data in the clear
}

// Job is a job as the gateway shows it.
type Job struct {
	ID           string          `json:"id"`
	Status       export.Status   `json:"status"`
	Phase        export.Phase    `json:"phase"`
	Percent      int             `json:"percent"`
	RowsExpected int64           `json:"rows_expected"`
	RowsWritten  int64           `json:"rows_written"`
	Place        int64           `json:"place"`
	Notice       *Notice         `json:"notice"`
	Failure      *export.Failure `json:"failure"`
	Receipt      *export.Receipt `json:"receipt"`
	Personal     bool            `json:"personal"`
}

// Notice is a thing to know that is no failure, such as that nobody works on the job.
type Notice struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Problem is an answer of the gateway that is not a success (RFC 9457).
type Problem struct {
	Status     int           `json:"status"`
	Title      string        `json:"title"`
	Detail     string        `json:"detail"`
	RetryAfter time.Duration `json:"-"` // its header's; 0: not said
	Errors     []struct {
		Location string `json:"location"`
		Message  string `json:"message"`
	} `json:"errors"`
}

// Error gives the detail and each thing that is wrong.
func (p *Problem) Error() string {
	b := []byte(p.Detail)
	if p.Detail == "" {
		b = fmt.Appendf(b, "the gateway answered %d %s", p.Status, p.Title)
	}
	for _, e := range p.Errors {
		b = fmt.Appendf(b, "\n  %s: %s", e.Location, e.Message)
	}
	return string(b)
}

// Submit asks for a file. key makes asking again safe: the same key is the same job.
func (c *Client) Submit(ctx context.Context, o Order, key string) (Job, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return Job{}, fmt.Errorf("encode the order: %w", err)
	}
	return c.job(ctx, http.MethodPost, "/api/v1/exports", body, http.Header{"Idempotency-Key": {key}})
}

// Get gives a job as it is now.
func (c *Client) Get(ctx context.Context, id string) (Job, error) {
	return c.job(ctx, http.MethodGet, "/api/v1/exports/"+id, nil, nil)
}

// Cancel ends a job.
func (c *Client) Cancel(ctx context.Context, id string) (Job, error) {
	return c.job(ctx, http.MethodDelete, "/api/v1/exports/"+id, nil, nil)
}

// Follow calls each with the job whenever it looks, until the job has ended, and
// gives its end. A gateway that does not answer for a while is waited for.
func (c *Client) Follow(ctx context.Context, id string, every time.Duration, each func(Job)) (Job, error) {
	for {
		j, err := c.Get(ctx, id)
		if err != nil {
			return j, err
		}
		each(j)
		if j.Status.Final() {
			return j, nil
		}
		select {
		case <-ctx.Done():
			return j, context.Cause(ctx)
		case <-time.After(every):
		}
	}
}

// job makes a call that answers with a job, and repeats it while the gateway is away.
func (c *Client) job(ctx context.Context, method, path string, body []byte, head http.Header) (Job, error) {
	return backoff.Retry(ctx, func() (j Job, err error) {
		resp, err := c.do(ctx, method, path, body, head)
		if err != nil {
			return j, retryable(err)
		}
		defer func() { _ = resp.Body.Close() }() // read to its end, or of no more use
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return j, fmt.Errorf("read the gateway's answer: %w", err)
		}
		if err := json.Unmarshal(answer, &j); err != nil { // whole, and yet no job: it is not the gateway who answers
			return j, backoff.Permanent(fmt.Errorf("read the gateway's answer: %w", err))
		}
		return j, nil
	}, backoff.WithMaxElapsedTime(time.Minute))
}

// maxAnswer is the most bytes of a job: its receipt may list 1,000 places.
const maxAnswer = 4 << 20

// do makes one call; an answer that is no success is a *Problem.
func (c *Client) do(ctx context.Context, method, path string, body []byte, head http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, backoff.Permanent(fmt.Errorf("make a request for %s: %w", path, err))
	}
	maps.Copy(req.Header, head)
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reach the gateway: %w", err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	p := &Problem{}
	_ = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(p) // without a body the status still tells
	p.Status, p.Title = resp.StatusCode, http.StatusText(resp.StatusCode)
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		p.RetryAfter = time.Duration(s) * time.Second
	}
	return nil, p
}

// retryable marks what would fail again as permanent, and says when to come back
// to a gateway that named a time. The problem stays in it, for the caller who has
// waited in vain.
func retryable(err error) error {
	var p *Problem
	if !errors.As(err, &p) {
		return err
	}
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if p.RetryAfter > 0 {
			return &waited{err, &backoff.RetryAfterError{Duration: p.RetryAfter}}
		}
		return err
	}
	return backoff.Permanent(err)
}

// waited is an error that says when to try again; to its reader it is the error alone.
type waited struct {
	error
	after *backoff.RetryAfterError
}

func (w *waited) Unwrap() []error { return []error{w.error, w.after} }
