package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rowmill/audit"
	"rowmill/element"
	"rowmill/home"
	"rowmill/repository"
	"rowmill/web"
)

// pages makes the backoffice's pages. What they record waits for the gateway, as
// the sign-in's events do.
func (a *app) pages(events *signInEvents, board *home.Service) (http.Handler, error) {
	location, err := time.LoadLocation(a.cfg.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone of the pages: %w", err)
	}
	return web.New(web.Config{
		Reservations: a.client.Impatient(), Jobs: a.jobs, Events: repository.NewAudit(a.db), Takers: repository.NewRowSets(a.db), Home: board,
		Record:  func(ctx context.Context, e audit.Event) error { return events.gateway.RecordEvent(ctx, e) },
		Modules: element.Files(), Logger: a.log,
		Location: location, Language: a.cfg.Language, Development: a.cfg.DevelopmentSignIn(),
		Secure: strings.HasPrefix(a.cfg.BaseURL, "https://"), BaseURL: a.cfg.BaseURL, Retention: a.cfg.Retention,
	})
}
