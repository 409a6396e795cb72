package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"rowmill/internal/config"
	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
	"rowmill/internal/metrics"
	"rowmill/internal/tracing"
)

// openTelemetry makes the metrics and, where a collector is named, the traces,
// whose last ones are sent when all else has ended.
func (a *app) openTelemetry(ctx context.Context) error {
	a.metrics = metrics.New(version, a.log)
	tracer, flush, err := tracing.Open(ctx, tracing.Config{Version: version, Role: strings.Join(a.cfg.Roles, ","), Ratio: a.cfg.TraceRatio, Logger: a.log})
	if err != nil {
		return err
	}
	a.tracer = tracer
	a.onClose(flush)
	return nil
}

// adminChecks are what the admin address's readiness asks: besides what the
// gateway's asks, whether the reservation API answers and the worker's loop beats.
// Without the API a gateway still takes orders and gives files out, so its own
// readiness, by which a load balancer goes, does not ask for it.
func (a *app) adminChecks() map[string]func(context.Context) error {
	checks := a.checks()
	if a.cfg.Exports() {
		checks["reservations"] = a.client.Ping
	}
	if a.cfg.Plays(config.Worker) {
		checks["worker"] = func(ctx context.Context) error {
			if w := a.worker.Load(); w != nil {
				return w.Beats(ctx)
			}
			return fault.New(fault.Unavailable, "The worker has not started.")
		}
	}
	return checks
}

func (a *app) openAdmin(ctx context.Context) (err error) {
	if a.cfg.Exports() {
		a.metrics.Watch(a.jobs, map[string]metrics.Check{"redis": a.queue.Ping, "files": a.files.Ping})
	}
	if a.cfg.AdminAddr == "" {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /readyz", a.readyz)
	mux.Handle("GET /metrics", a.metrics.Handler())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	if a.admin, err = a.listen(ctx, "admin", a.cfg.AdminAddr, bounded(mux)); err != nil {
		return err
	}
	a.onClose(a.admin.closeUnused)
	return nil
}

// readyz names every dependency with its state, a line each; the log has the cause
// of one that is not ready.
func (a *app) readyz(w http.ResponseWriter, r *http.Request) {
	checks := a.adminChecks()
	failed := httpedge.Failing(r.Context(), checks)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if len(failed) > 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	var ready, not []string
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		if err := failed[name]; err != nil {
			a.log.WarnContext(r.Context(), "not ready", "dependency", name, "error", err)
			not = append(not, name+" is not ready\n")
			continue
		}
		ready = append(ready, name+" is ready\n")
	}
	_, _ = io.WriteString(w, strings.Join(append(not, ready...), "")) // a client that has gone does not care
}
