package gateway

import (
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
