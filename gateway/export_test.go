package gateway

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"rowmill/access"
)

// Subject is the caller that the tests' static token stands for.
const Subject = "developer"

// OpenPaths are those without identity.
func OpenPaths() map[string]bool { return openPaths }

// Rules gives the operations that needs has a rule for.
func Rules() map[string][]access.Permission { return needs }

// Routes gives the routes, for the check that each is documented.
func (s *Server) Routes() []*echo.Route { return s.echo.Routes() }

// ActAs makes every caller who is let in the principal.
func (s *Server) ActAs(p access.Principal) {
	s.echo.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			requestOf(c.Request().Context()).subject = p.Subject
			c.SetRequest(c.Request().WithContext(access.With(c.Request().Context(), p)))
			return next(c)
		}
	})
}

// Seen is what each call of p begins with.
func (s *Server) Seen(ctx context.Context, p access.Principal) error { return s.keeper.Seen(ctx, p) }

// Rates bounds calls.
type Rates struct{ r *rates }

// NewRates gives Rates that hold so many buckets at most.
func NewRates(l Limits, now func() time.Time, most int) Rates {
	r := newRates(l, now)
	r.most = most
	return Rates{r}
}

func (r Rates) Take(subject string) error { return r.r.take(subject) }
func (r Rates) Held() int                 { return len(r.r.buckets) }
