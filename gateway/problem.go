package gateway

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/labstack/echo/v4"

	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
)

// Problem is an error as the caller reads it (RFC 9457).
type Problem struct {
	Type      string        `json:"type" doc:"Stable: urn:rowmill:problem:<kind>" example:"urn:rowmill:problem:invalid"`
	Title     string        `json:"title" doc:"The status in words"`
	Status    int           `json:"status" doc:"The HTTP status"`
	Detail    string        `json:"detail,omitempty" doc:"What went wrong this time"`
	Message   string        `json:"message,omitempty" doc:"The detail again, under the name by which refine and react-admin show it"`
	RequestID string        `json:"request_id,omitempty" doc:"What the log knows this call by"`
	Errors    []ProblemItem `json:"errors,omitempty" nullable:"false" doc:"Each part of the input that is wrong, or each dependency that fails"`

	retryAfter time.Duration
}

// ProblemItem is one part that is wrong.
type ProblemItem struct {
	Name     string `json:"name" doc:"The parameter or property, as the caller wrote it"`
	Location string `json:"location,omitempty" doc:"Where it is" example:"body.columns[2]"`
	Message  string `json:"message" doc:"What is wrong with it and what would be right"`
}

// say sets what the caller reads.
func (p *Problem) say(detail string) {
	p.Detail, p.Message = detail, detail
}

// Error gives the detail. It and the other methods are what huma asks of an error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus gives the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType gives that of a problem, whatever huma would have answered with.
func (p *Problem) ContentType(string) string { return httpedge.ProblemMedia }

// GetHeaders gives Retry-After where the problem says when to come back.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	httpedge.SetRetryAfter(h, p.retryAfter)
	return h
}

var statusOf = map[fault.Kind]int{
	fault.Internal:     http.StatusInternalServerError,
	fault.Invalid:      http.StatusBadRequest,
	fault.NotFound:     http.StatusNotFound,
	fault.Conflict:     http.StatusConflict,
	fault.Unauthorized: http.StatusUnauthorized,
	fault.Forbidden:    http.StatusForbidden,
	fault.Gone:         http.StatusGone,
	fault.Unavailable:  http.StatusServiceUnavailable,
	fault.Overloaded:   http.StatusServiceUnavailable, // a dependency asks for fewer calls, not the caller for too many
	fault.TooMany:      http.StatusTooManyRequests,
	fault.Full:         http.StatusServiceUnavailable,
}

// kindOf names the kinds of the statuses that the frameworks answer by themselves.
var kindOf = map[int]string{
	http.StatusBadRequest:            fault.Invalid.String(),
	http.StatusUnauthorized:          fault.Unauthorized.String(),
	http.StatusForbidden:             fault.Forbidden.String(),
	http.StatusNotFound:              fault.NotFound.String(),
	http.StatusConflict:              fault.Conflict.String(),
	http.StatusGone:                  fault.Gone.String(),
	http.StatusServiceUnavailable:    fault.Unavailable.String(),
	http.StatusTooManyRequests:       fault.TooMany.String(),
	http.StatusMethodNotAllowed:      "method-not-allowed",
	http.StatusNotAcceptable:         "not-acceptable",
	http.StatusRequestTimeout:        "timeout",
	http.StatusRequestEntityTooLarge: "too-large",
	http.StatusRequestURITooLong:     "too-large",
	http.StatusUnsupportedMediaType:  "unsupported-media-type",
}

// retryDefault is when to come back if a dependency that fails has not said.
const retryDefault = 5 * time.Second

// problemOf is the one place where an error becomes an answer.
func problemOf(ctx context.Context, err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	var he *echo.HTTPError
	if _, ok := fault.As(err); !ok && errors.As(err, &he) {
		return statusProblem(ctx, he.Code, httpDetail(he))
	}
	kind := fault.KindOf(err)
	p = statusProblem(ctx, statusOf[kind], fault.Message(err))
	p.Type = httpedge.ProblemSpace + kind.String()
	if f, ok := fault.As(err); ok {
		p.retryAfter = f.RetryAfter
		for _, field := range f.Fields {
			p.Errors = append(p.Errors, ProblemItem{Name: field.Name, Message: field.Detail})
		}
	}
	if (p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests) && p.retryAfter == 0 {
		p.retryAfter = retryDefault
	}
	return p
}

func statusProblem(ctx context.Context, status int, detail string) *Problem {
	kind, ok := kindOf[status]
	if !ok {
		kind = fault.Internal.String()
	}
	p := &Problem{Type: httpedge.ProblemSpace + kind, Title: http.StatusText(status), Status: status, RequestID: requestOf(ctx).id}
	p.say(detail)
	return p
}

func httpDetail(he *echo.HTTPError) string {
	switch he.Code {
	case http.StatusNotFound:
		return "There is nothing at this address."
	case http.StatusMethodNotAllowed:
		return "This address does not take this method; the Allow header lists those it takes."
	}
	if text, ok := he.Message.(string); ok && he.Code < http.StatusInternalServerError {
		return text
	}
	return fault.Message(he)
}

// report logs what the caller must not read.
func (s *Server) report(ctx context.Context, p *Problem, err error) {
	switch {
	case p.Status < http.StatusInternalServerError:
	case ctx.Err() != nil: // the caller has gone; nothing failed on our side
		s.log(ctx).DebugContext(ctx, "request abandoned", "error", err)
	default:
		s.log(ctx).ErrorContext(ctx, "request failed", "kind", strings.TrimPrefix(p.Type, httpedge.ProblemSpace), "error", err)
	}
}

// writeError answers the errors that come by echo: its own, the middleware's and panics.
func (s *Server) writeError(err error, c echo.Context) {
	ctx := c.Request().Context()
	p := problemOf(ctx, err)
	s.report(ctx, p, err)
	if c.Response().Committed {
		return // the status is out: the log has the error
	}
	h := c.Response().Header()
	maps.Copy(h, p.GetHeaders())
	if s.failPage(err, c) {
		return
	}
	h.Set("Content-Type", httpedge.ProblemMedia)
	if c.Request().Method == http.MethodHead {
		err = c.NoContent(p.Status)
	} else {
		err = c.JSON(p.Status, p)
	}
	if err != nil {
		s.log(ctx).DebugContext(ctx, "problem not delivered", "error", err)
	}
}

// ownProblems makes a Problem of huma's own error, such as that of its
// validation. It drops the values, which may be a guest's.
func ownProblems(ctx huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := statusProblem(ctx.Context(), plainStatus(e.Status), e.Detail)
	if e.Detail == "validation failed" {
		p.say("The request is not valid.")
	}
	if e.Status >= http.StatusInternalServerError {
		p.say(fault.Message(e))
		return p, nil
	}
	for _, d := range e.Errors {
		message := d.Message
		if message == validation.MsgExpectedMatchExactlyOneSchema && strings.HasPrefix(d.Location, "body.filter.") {
			message = "takes a text or a list of at least one text"
		}
		p.Errors = append(p.Errors, ProblemItem{Name: lastPart(d.Location), Location: d.Location, Message: message})
	}
	return p, nil
}

// plainStatus makes 422 a 400: whatever the input is wrong in, its kind is invalid.
func plainStatus(status int) int {
	if status == http.StatusUnprocessableEntity {
		return http.StatusBadRequest
	}
	return status
}

// plain is a huma context whose answers are never 422.
type plain struct{ humaContext }

type humaContext huma.Context

func (p plain) SetStatus(status int)                    { p.humaContext.SetStatus(plainStatus(status)) }
func (p plain) Unwrap() huma.Context                    { return p.humaContext }
func plainly(ctx huma.Context, next func(huma.Context)) { next(plain{ctx}) }

func lastPart(location string) string {
	location, _, _ = strings.Cut(location, "[")
	return location[strings.LastIndexByte(location, '.')+1:]
}
