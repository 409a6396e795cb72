package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rowmill/audit"
	"rowmill/web"
)

// pages makes the backoffice's pages.
func (a *app) pages(record func(context.Context, audit.Event) error) (http.Handler, error) {
	location, err := time.LoadLocation(a.cfg.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone of the pages: %w", err)
	}
	return web.New(web.Config{
		Reservations: a.client, Jobs: a.jobs, Record: record, Logger: a.log,
		Location: location, Language: a.cfg.Language,
		Secure: strings.HasPrefix(a.cfg.BaseURL, "https://"), BaseURL: a.cfg.BaseURL, Retention: a.cfg.Retention,
	})
}
