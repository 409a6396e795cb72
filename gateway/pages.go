package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"rowmill/audit"
	"rowmill/internal/fault"
)

// pagePaths are the backoffice's pages. A browser that is
// not signed in, or not any more, is let through: the page leads to the sign-in.
var pagePaths = map[string]bool{"/": true, "/reservations": true, "/reservations/:id": true, "/exports": true, "/audit": true, "/about": true, "/home": true}

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

// pageFailer is what Pages may be besides: it tells people an error by which the
// gateway keeps a page from them.
type pageFailer interface {
	Fail(w http.ResponseWriter, r *http.Request, err error)
}

// failPage lets the pages tell the error, if a person asked for one of them.
func (s *Server) failPage(err error, c echo.Context) bool {
	pages, able := s.cfg.Pages.(pageFailer)
	_, told := fault.As(err)
	if !able || !told || !pagePaths[c.Path()] || !strings.Contains(c.Request().Header.Get("Accept"), "text/html") {
		return false
	}
	pages.Fail(c.Response(), c.Request(), err)
	return true
}

// RecordEvent keeps an event of the call of ctx in the audit, with who called, when
// and from where. It is how the pages write there.
func (s *Server) RecordEvent(ctx context.Context, e audit.Event) error { return s.record(ctx, e) }
