package gateway

import "github.com/labstack/echo/v4"

// Routes gives the routes, for the check that each is documented.
func (s *Server) Routes() []*echo.Route { return s.echo.Routes() }
