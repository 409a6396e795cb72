package gateway

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"rowmill/access"
)

// Routes gives the routes, for the check that each is documented.
func (s *Server) Routes() []*echo.Route { return s.echo.Routes() }

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
