package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// exposedHeaders are those that a browser's page may read beyond the plain ones.
var exposedHeaders = []string{
	"X-Total-Count", "Location", "Retry-After", "Link", "ETag", "Content-Disposition",
	"Repr-Digest", "Accept-Ranges", "Content-Range", "X-Request-Id",
}

// openPaths need no identity: they hold no data, or find out who calls.
var openPaths = map[string]bool{
	assetPath: true, "/livez": true, "/readyz": true, "/openapi.json": true,
	"/auth/login": true, "/auth/callback": true, "/auth/logout": true, "/auth/development": true,
}

// probed paths are called every few seconds, and not logged each time.
var probed = map[string]bool{"/livez": true, "/readyz": true}

func (s *Server) use() {
	s.echo.Use(s.observe, s.secure)
	if len(s.cfg.AllowedOrigins) > 0 {
		s.echo.Use(middleware.CORSWithConfig(middleware.CORSConfig{
			AllowOrigins:  s.cfg.AllowedOrigins,
			AllowMethods:  []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete},
			AllowHeaders:  []string{"Authorization", "Content-Type", "Idempotency-Key", "Range", "If-Range", "X-Request-Id", "traceparent"},
			ExposeHeaders: exposedHeaders,
			MaxAge:        600,
		}))
	}
	s.echo.Use(s.authenticate, s.admit, s.bound)
}

// observe names the call, answers its error or panic, and logs how it ended.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := s.cfg.Now()
		operation := s.operationOf(c)
		ctx, span := s.enter(c, operation)
		defer func() { s.answered(c, span, operation, s.cfg.Now().Sub(start)) }()
		req, ctx := identify(c.Request().WithContext(ctx), s.cfg.TrustedProxies)
		c.SetRequest(c.Request().WithContext(ctx))
		c.Response().Header().Set("X-Request-Id", req.id)
		if err := s.guard(c, next); err != nil {
			s.writeError(err, c)
		}
		level := slog.LevelInfo
		if probed[c.Path()] {
			level = slog.LevelDebug
		}
		s.log(ctx).Log(ctx, level, "request answered",
			"method", c.Request().Method, "route", c.Path(), "status", c.Response().Status,
			"bytes", c.Response().Size, "duration", s.cfg.Now().Sub(start), "subject", req.subject)
		return nil
	}
}

// guard makes a panic an error, but for the one by which a handler hangs up.
func (s *Server) guard(c echo.Context, next echo.HandlerFunc) (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if cause, ok := r.(error); ok && errors.Is(cause, http.ErrAbortHandler) {
			panic(r)
		}
		err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
	}()
	return next(c)
}

// secure sets the headers that hold for every answer; a handler may overwrite them.
func (s *Server) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		return next(c)
	}
}

// bound refuses a query that is too long to be meant.
func (s *Server) bound(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if n := len(c.Request().URL.RawQuery); n > maxQueryBytes {
			return echo.NewHTTPError(http.StatusRequestURITooLong, fmt.Sprintf("The query has %d bytes; %d are allowed.", n, maxQueryBytes))
		}
		return next(c)
	}
}
