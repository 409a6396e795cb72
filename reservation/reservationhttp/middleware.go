package reservationhttp

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
	"rowmill/internal/telemetry"
)

// Keys of what observe leaves in the echo context.
const (
	keyLogger     = "logger"
	keyStatements = "statements"
)

// observe gives a request its ids, its logger and its count of statements, and
// logs how it ended.
func (s *server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		req := c.Request()
		ctx, span := s.enter(c)
		ctx, count := telemetry.CountStatements(ctx)
		id := requestID(req.Header.Get(headerRequestID))
		c.Response().Header().Set(headerRequestID, id)
		log := s.logger.With(slog.String("request_id", id))
		c.SetRequest(req.WithContext(ctx))
		c.Set(keyLogger, log)
		c.Set(keyStatements, count)
		defer func() {
			s.answered(c, span, count.Count(), time.Since(start))
			log.DebugContext(ctx, "request served", slog.String("method", req.Method), slog.String("route", c.Path()), slog.Int("status", c.Response().Status),
				slog.Int64("bytes", c.Response().Size), slog.Int64("statements", count.Count()), slog.Duration("took", time.Since(start)))
		}()
		if err := next(c); err != nil {
			s.fail(err, c)
		}
		return nil
	}
}

// requestID gives the caller's id if it is fit for a log line, or a new one.
func requestID(given string) string {
	fit := func(r rune) bool {
		return r < 0x80 && (r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_')
	}
	if given == "" || len(given) > 64 || strings.ContainsFunc(given, func(r rune) bool { return !fit(r) }) {
		return rand.Text()
	}
	return given
}

// authorize lets nobody without the service token past, but for /livez: not
// even to learn which paths there are.
func (s *server) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Path() == pathLive {
			return next(c)
		}
		if !s.token.Is(httpedge.Bearer(c.Request().Header.Get(echo.HeaderAuthorization))) {
			return fault.New(fault.Unauthorized, "The service token is missing or wrong.")
		}
		return next(c)
	}
}

// panicked turns a panic into an error that goes the way of every other.
func (s *server) panicked(_ echo.Context, err error, stack []byte) error {
	return fault.Wrap(fmt.Errorf("panic: %w\n%s", err, stack), fault.Internal, "Something went wrong on our side. The log has the cause.")
}

func (s *server) loggerOf(c echo.Context) *slog.Logger {
	if log, ok := c.Get(keyLogger).(*slog.Logger); ok {
		return log
	}
	return s.logger
}

// statementsOf gives the statements that the request has cost so far.
func statementsOf(c echo.Context) int64 {
	if count, ok := c.Get(keyStatements).(*telemetry.Statements); ok {
		return count.Count()
	}
	return 0
}
