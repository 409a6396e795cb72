package gateway_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"rowmill/gateway"
	"rowmill/internal/telemetry"
)

// Whoever has a job's trace finds the call that asked for it, and the other way round.
func TestAnOrdersLinesAndItsJobHaveTheCallersTrace(t *testing.T) {
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	var log bytes.Buffer
	w := newWorld(t, func(w *world, c *gateway.Config) {
		c.Logger = telemetry.NewLogger(&log, "json", slog.LevelDebug)
		w.queue.err = errBroken // so that there is a line of that too
	})
	view := decode[gateway.JobView](t, w.call("POST", exportsPath, `{}`, "traceparent", parent).Body)
	w.call("POST", exportsPath, `{}`, "traceparent", parent) // the same job again
	stored, err := w.jobs.Get(t.Context(), view.ID)
	if err != nil || stored.TraceParent != parent {
		t.Errorf("the job has the trace %q, %v", stored.TraceParent, err)
	}
	lines := 0
	for s := bufio.NewScanner(&log); s.Scan(); lines++ {
		var line struct {
			Msg       string `json:"msg"`
			Trace     string `json:"trace_id"`
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Trace != trace || line.RequestID == "" {
			t.Errorf("%q has the trace %q and the request %q", line.Msg, line.Trace, line.RequestID)
		}
	}
	if lines < 5 { // accepted, not enqueued, there already, and an answer each
		t.Errorf("%d lines were logged", lines)
	}
}
