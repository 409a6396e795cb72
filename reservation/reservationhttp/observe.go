package reservationhttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
)

// Called is told of each try of a call: "snapshot", "batch" or "list", how it ended
// ("ok", "busy", "refused", "unavailable", "broken", "timeout" or "canceled"), and
// what it took until its answer was read.
type Called func(call, outcome string, took time.Duration)

// calls names the paths for those who watch.
var calls = map[string]string{
	pathSnapshot: "snapshot", pathBatch: "batch", pathList: "list", pathFields: "fields", pathCoupons: "coupon-prices", pathLive: "livez",
}

// observe begins the span of a try and gives what ends it.
func (c *Client) observe(ctx context.Context, path string) (context.Context, func(error)) {
	began := time.Now()
	ctx, span := telemetry.Start(ctx, "POST "+path, telemetry.ClientSide, telemetry.Text("http.request.method", http.MethodPost), telemetry.Text("url.template", path))
	return ctx, func(err error) {
		outcome := outcomeOf(ctx, err)
		if c.config.Called != nil {
			c.config.Called(calls[path], outcome, time.Since(began))
		}
		if err != nil {
			span.Fail(outcome)
		}
		span.End(nil)
	}
}

// outcomeOf says in a word how a try ended.
func outcomeOf(ctx context.Context, err error) string {
	r, refused := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		return "ok"
	case refused && r.status == http.StatusTooManyRequests:
		return "busy"
	case refused && r.status >= 500:
		return "unavailable"
	case refused:
		return "refused"
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(context.Cause(ctx), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case ctx.Err() != nil:
		return "canceled"
	}
	return "broken" // by the network, or an answer that is not whole
}

// hooks are those who count a server's answers; each may be nil.
type hooks struct {
	onAnswer func(operation string, status int, took time.Duration)
	onPage   func(statements int64)
}

// enter goes on with the caller's trace. Probes have no span.
func (s *server) enter(c echo.Context) (context.Context, *telemetry.Span) {
	req, tracer := c.Request(), s.tracer
	if calls[c.Path()] == "" || c.Path() == pathLive {
		tracer = nil
	}
	return tracer.Enter(req.Context(), req.Header.Get("traceparent"), telemetry.Entry{Name: req.Method + " " + c.Path(), Kind: telemetry.ServerSide, Attrs: []telemetry.Attr{
		telemetry.Text("http.request.method", req.Method), telemetry.Text("http.route", c.Path()),
	}})
}

// answered ends a request's span and counts it.
func (s *server) answered(c echo.Context, span *telemetry.Span, statements int64, took time.Duration) {
	status, call := c.Response().Status, calls[c.Path()]
	span.Set(telemetry.Number("http.response.status_code", status), telemetry.Number("rowmill.statements", statements))
	if status >= 500 {
		span.Fail(http.StatusText(status))
	}
	span.End(nil)
	if s.onAnswer != nil && call != "" {
		s.onAnswer("reservations-"+call, status, took)
	}
	if s.onPage != nil && call == "batch" && status == http.StatusOK {
		s.onPage(statements)
	}
}

// Ping reports whether the API answers.
func (c *Client) Ping(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.BaseURL+pathLive, http.NoBody)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "The address of the reservation API is not valid.")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "The reservation API does not answer.")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fault.New(fault.Unavailable, "The reservation API answers with status %d.", res.StatusCode)
	}
	return nil
}
