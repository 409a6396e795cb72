package gateway

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"rowmill/internal/telemetry"
)

// request is what a call is known by.
type request struct {
	id          string // X-Request-Id
	traceParent string // W3C trace context
	subject     string // "" until the caller is known
	address     string // the client's IP address
	userAgent   string // at most maxUserAgent bytes
	byCookie    bool   // the caller is known by what a browser sends unasked
	linked      bool   // a signed link stands for the caller
}

type requestKey struct{}

// requestOf gives the call that ctx belongs to; outside of one, an empty one.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// identify takes the caller's request id, or makes one, and the trace of its context.
func identify(r *http.Request, proxies []netip.Prefix) (*request, context.Context) {
	ctx := r.Context()
	req := &request{id: r.Header.Get("X-Request-Id"), traceParent: telemetry.TraceParent(ctx), userAgent: r.UserAgent()}
	req.address = clientAddress(r, proxies)
	req.userAgent = strings.ToValidUTF8(req.userAgent[:min(maxUserAgent, len(req.userAgent))], "")
	if !visibleASCII(req.id, maxRequestID) {
		req.id = rand.Text()
	}
	return req, context.WithValue(ctx, requestKey{}, req)
}

const (
	maxRequestID = 128
	maxUserAgent = 256
)

// visibleASCII reports whether s has 1 to limit bytes, each of them 0x21 to 0x7E.
func visibleASCII(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// log gives the logger for what happens during the call of ctx.
func (s *Server) log(ctx context.Context) *slog.Logger { return logger(ctx, s.cfg.Logger) }

func logger(ctx context.Context, l *slog.Logger) *slog.Logger {
	return l.With("request_id", requestOf(ctx).id)
}
