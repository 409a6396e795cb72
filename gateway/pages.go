package gateway

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"rowmill/audit"
)

// pagePaths are the backoffice's pages. A browser that is
// not signed in, or not any more, is let through: the page leads to the sign-in.
var pagePaths = map[string]bool{"/": true, "/reservations": true, "/reservations/:id": true, "/exports": true, "/audit": true, "/about": true}

// assetPath is that of what the pages load. It holds no data.
const assetPath = "/assets/:name"

// pageRoutes mounts the pages, which set headers of their own.
func (s *Server) pageRoutes() {
	if s.cfg.Pages == nil {
		return
	}
	serve := echo.WrapHandler(s.cfg.Pages)
	read := []string{http.MethodGet, http.MethodHead}
	for path := range pagePaths {
		s.echo.Match(read, path, serve)
	}
	s.echo.Match(read, assetPath, serve)
}

// RecordEvent keeps an event of the call of ctx in the audit, with who called, when
// and from where. It is how the pages write there.
func (s *Server) RecordEvent(ctx context.Context, e audit.Event) error { return s.record(ctx, e) }
