package gateway

import (
	"github.com/labstack/echo/v4"

	"rowmill/access"
)

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
