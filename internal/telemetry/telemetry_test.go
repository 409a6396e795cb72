package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/telemetry"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceParent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

// line logs once to a JSON logger by way of log and gives the line without its time.
func line(t *testing.T, log func(l *slog.Logger)) map[string]any {
	t.Helper()
	var b bytes.Buffer
	log(telemetry.NewLogger(&b, "json", slog.LevelInfo))
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%q: %v", b.String(), err)
	}
	delete(got, "time")
	return got
}

func TestALineHasTheTraceAndTheJobOfItsContext(t *testing.T) {
	traced := telemetry.WithTraceParent(t.Context(), traceParent)
	for name, test := range map[string]struct {
		ctx  context.Context
		want map[string]any
	}{
		"neither":                     {t.Context(), map[string]any{}},
		"a trace":                     {traced, map[string]any{"trace_id": traceID}},
		"a job":                       {telemetry.WithJob(t.Context(), "job-1"), map[string]any{"job_id": "job-1"}},
		"both":                        {telemetry.WithJob(traced, "job-1"), map[string]any{"trace_id": traceID, "job_id": "job-1"}},
		"the job that was named last": {telemetry.WithJob(telemetry.WithJob(t.Context(), "job-1"), "job-2"), map[string]any{"job_id": "job-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.want["level"], test.want["msg"], test.want["rows"] = "INFO", "done", float64(3)
			got := line(t, func(l *slog.Logger) { l.InfoContext(test.ctx, "done", "rows", 3) })
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("want, got: %s", d)
			}
		})
	}
}

func TestALoggerMadeOfAnotherKeepsTheContextsFields(t *testing.T) {
	ctx := telemetry.WithJob(t.Context(), "job-1")
	got := line(t, func(l *slog.Logger) { l.With("server", "gateway").InfoContext(ctx, "done") })
	if d := cmp.Diff(map[string]any{"level": "INFO", "msg": "done", "server": "gateway", "job_id": "job-1"}, got); d != "" {
		t.Errorf("with an attribute: %s", d)
	}
	got = line(t, func(l *slog.Logger) { l.WithGroup("call").InfoContext(ctx, "done", "rows", 3) })
	if d := cmp.Diff(map[string]any{"level": "INFO", "msg": "done", "call": map[string]any{"rows": float64(3), "job_id": "job-1"}}, got); d != "" {
		t.Errorf("in a group: %s", d)
	}
}

func TestALoggerKeepsToItsFormatAndItsLevel(t *testing.T) {
	var b bytes.Buffer
	log := telemetry.NewLogger(&b, "text", slog.LevelWarn)
	ctx := telemetry.WithJob(t.Context(), "job-1")
	log.InfoContext(ctx, "passed over")
	if b.Len() > 0 {
		t.Errorf("a line below the level was written: %s", b.String())
	}
	log.WarnContext(ctx, "kept")
	if got := b.String(); !strings.HasSuffix(got, " level=WARN msg=kept job_id=job-1\n") {
		t.Errorf("got %q", got)
	}
}

func TestATraceIsGoneOnWith(t *testing.T) {
	if got := telemetry.TraceParent(telemetry.WithTraceParent(t.Context(), traceParent)); got != traceParent {
		t.Errorf("got %q, want %q", got, traceParent)
	}
}

func TestATraceIsMadeWhereThereIsNone(t *testing.T) {
	form := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`)
	seen := map[string]bool{}
	for _, given := range []string{
		"", "nonsense", traceParent[:50], "ff" + traceParent[2:],
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", // a trace of zeros is none
		"00-" + traceID + "-0000000000000000-01",
	} {
		got := telemetry.TraceParent(telemetry.WithTraceParent(t.Context(), given))
		if !form.MatchString(got) || strings.Contains(got, traceID) || seen[got] {
			t.Errorf("%q: got %q, want a trace of its own", given, got)
		}
		seen[got] = true
	}
}

func TestAContextOfNoTraceHasNone(t *testing.T) {
	if got := telemetry.TraceParent(t.Context()); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestStatementsCountForTheCallThatSendsThem(t *testing.T) {
	first, firstCount := telemetry.CountStatements(t.Context())
	second, secondCount := telemetry.CountStatements(t.Context())
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 100 {
				telemetry.StatementSent(first)
			}
		})
	}
	calls.Wait()
	below, stop := context.WithCancel(second)
	telemetry.StatementSent(below)
	stop()
	telemetry.StatementSent(below)       // it was sent, whatever has become of the call
	telemetry.StatementSent(t.Context()) // nobody counts
	if firstCount.Count() != 800 || secondCount.Count() != 2 {
		t.Errorf("counted %d and %d, want 800 and 2", firstCount.Count(), secondCount.Count())
	}
}

func TestTheInnerCountAloneCounts(t *testing.T) {
	outer, outerCount := telemetry.CountStatements(t.Context())
	inner, innerCount := telemetry.CountStatements(outer)
	telemetry.StatementSent(inner)
	if outerCount.Count() != 0 || innerCount.Count() != 1 {
		t.Errorf("outer %d, inner %d; want 0 and 1", outerCount.Count(), innerCount.Count())
	}
}

func TestHeldMemoryHasWhatIsAlive(t *testing.T) {
	const size = 64 << 20
	alive := make([]byte, size)
	if held := telemetry.HeldMemory(); held < size {
		t.Errorf("with %d bytes alive the process holds %d", len(alive), held)
	}
	runtime.KeepAlive(alive)
}
