package reservationhttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-faster/jx"
	"github.com/labstack/echo/v4"

	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
)

// maxProblem is the most bytes that the client reads of a problem.
const maxProblem = 256 << 10

// problem is an error as it travels (RFC 9457).
type problem struct {
	kind       string
	title      string
	status     int
	detail     string
	fields     []fault.Field
	retryAfter time.Duration
}

// statuses says what each kind of fault is to a caller.
var statuses = map[fault.Kind]struct {
	status int
	title  string
}{
	fault.Internal:     {http.StatusInternalServerError, "Internal error"},
	fault.Invalid:      {http.StatusBadRequest, "Invalid request"},
	fault.NotFound:     {http.StatusNotFound, "Not found"},
	fault.Conflict:     {http.StatusConflict, "Conflict"},
	fault.Unauthorized: {http.StatusUnauthorized, "Unauthorized"},
	fault.Forbidden:    {http.StatusForbidden, "Forbidden"},
	fault.Gone:         {http.StatusGone, "Gone"},
	fault.Unavailable:  {http.StatusServiceUnavailable, "Unavailable"},
	fault.Overloaded:   {http.StatusTooManyRequests, "Too many requests"},
}

// problemOf is the one place where an error becomes a status.
func problemOf(err error) problem {
	if f, ok := fault.As(err); ok {
		s := statuses[f.Kind]
		return problem{kind: f.Kind.String(), title: s.title, status: s.status, detail: f.Message, fields: f.Fields, retryAfter: f.RetryAfter}
	}
	if refused, ok := errors.AsType[*echo.HTTPError](err); ok && refused.Code < 500 {
		title := http.StatusText(refused.Code)
		return problem{kind: strings.ReplaceAll(strings.ToLower(title), " ", "-"), title: title, status: refused.Code, detail: title + "."}
	}
	kind := fault.KindOf(err)
	if errors.Is(err, context.Canceled) {
		kind = fault.Unavailable // the caller went away, or this server is going down
	}
	s := statuses[kind]
	return problem{kind: kind.String(), title: s.title, status: s.status, detail: fault.Message(err)}
}

// fail is the server's one error handler. An answer that has begun cannot turn
// into a problem any more: its connection is cut, so that no caller takes what
// has arrived for the whole.
func (s *server) fail(err error, c echo.Context) {
	p := problemOf(err)
	log := s.loggerOf(c)
	gone := c.Request().Context().Err() != nil
	switch {
	case gone:
		log.InfoContext(c.Request().Context(), "caller went away", slog.Any("error", err))
	case c.Response().Committed:
		log.ErrorContext(c.Request().Context(), "answer cut in mid stream", slog.Any("error", err))
	case p.status >= 500:
		log.ErrorContext(c.Request().Context(), "request failed", slog.Any("error", err))
	}
	if c.Response().Committed {
		panic(http.ErrAbortHandler)
	}
	httpedge.SetRetryAfter(c.Response().Header(), p.retryAfter)
	if p.status == http.StatusUnauthorized {
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, httpedge.Challenge)
	}
	if err := c.Blob(p.status, httpedge.ProblemMedia, p.encode()); err != nil {
		log.InfoContext(c.Request().Context(), "problem not delivered", slog.Any("error", err))
	}
}

func (p problem) encode() []byte {
	var w jx.Writer
	text := func(name, value string) {
		w.FieldStart(name)
		w.Str(strings.ToValidUTF8(value, "\uFFFD"))
	}
	w.ObjStart()
	text("type", httpedge.ProblemSpace+p.kind)
	w.Comma()
	text("title", p.title)
	w.Comma()
	w.FieldStart("status")
	w.Int(p.status)
	w.Comma()
	text("detail", p.detail)
	if len(p.fields) > 0 {
		w.Comma()
		w.FieldStart("errors")
		w.ArrStart()
		for i, f := range p.fields {
			if i > 0 {
				w.Comma()
			}
			w.ObjStart()
			text("name", f.Name)
			w.Comma()
			text("detail", f.Detail)
			w.ObjEnd()
		}
		w.ArrEnd()
	}
	w.ObjEnd()
	return w.Buf
}

// readProblem reads a problem; ok is false if r holds none, as when something
// between the client and the server has answered.
func readProblem(r io.Reader) (p problem, ok bool) {
	err := decode(io.LimitReader(r, maxProblem), func(d *jx.Decoder) error {
		return d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
			switch string(key) {
			case "type":
				p.kind, err = d.Str()
			case "detail":
				p.detail, err = d.Str()
			case "errors":
				err = d.Arr(p.readField)
			default:
				err = d.Skip()
			}
			return err
		})
	})
	if err != nil {
		return problem{}, false
	}
	p.kind, ok = strings.CutPrefix(p.kind, httpedge.ProblemSpace)
	return p, ok
}

func (p *problem) readField(d *jx.Decoder) error {
	var f fault.Field
	err := d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "name":
			f.Name, err = d.Str()
		case "detail":
			f.Detail, err = d.Str()
		default:
			err = d.Skip()
		}
		return err
	})
	p.fields = append(p.fields, f)
	return err
}
