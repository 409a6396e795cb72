package exportclient

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"rowmill/export"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// direct answers a client's calls from a handler, without a network: under
// synctest no connection may be waited for.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, r)
	return rec.Result(), nil
}

func clientOf(h http.HandlerFunc) *Client {
	c := New("http://gateway/", "the-token")
	c.http = &http.Client{Transport: direct{h}}
	return c
}

func give(t *testing.T, w http.ResponseWriter, status int, body any) {
	t.Helper()
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		t.Error(err)
	}
}

func TestSubmitSendsTheOrderOnceUnderItsKey(t *testing.T) {
	order := Order{Dataset: "reservations", Format: "csv", Filter: map[string][]string{"status": {"Canceled"}}, Columns: []string{"id"}}
	c := clientOf(func(w http.ResponseWriter, r *http.Request) {
		got := []string{r.Method, r.URL.String(), r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type")}
		want := []string{"POST", "http://gateway/api/v1/exports", "Bearer the-token", "a-key", "application/json"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the call (-want +got):\n%s", diff)
		}
		body, err := io.ReadAll(r.Body)
		if want := `{"dataset":"reservations","format":"csv","filter":{"status":["Canceled"]},"columns":["id"]}`; err != nil || string(body) != want {
			t.Errorf("the body is %s, %v", body, err)
		}
		give(t, w, http.StatusAccepted, Job{ID: "j", Status: export.Queued, Place: 2})
	})
	job, err := c.Submit(t.Context(), order, "a-key")
	if err != nil || job.ID != "j" || job.Status != export.Queued || job.Place != 2 {
		t.Errorf("got %+v, %v", job, err)
	}
}

func TestCancelDeletesTheJob(t *testing.T) {
	c := clientOf(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete || r.URL.Path != "/api/v1/exports/j" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		give(t, w, http.StatusOK, Job{ID: "j", Status: export.Canceled})
	})
	if job, err := c.Cancel(t.Context(), "j"); err != nil || job.Status != export.Canceled {
		t.Errorf("got %+v, %v", job, err)
	}
}

func TestARefusalSaysAllThatIsWrongAndIsNotRepeated(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		status           int
	}{
		{"wrong input", `{"detail":"The order is not valid.","errors":[{"location":"body.columns[0]","message":"there is no column \"x\""},{"location":"body.sort","message":"there is no field \"y\""}]}`,
			"The order is not valid.\n  body.columns[0]: there is no column \"x\"\n  body.sort: there is no field \"y\"", 400},
		{"no token", `{"detail":"No."}`, "No.", 401},
		{"a proxy's page", "<html>", "the gateway answered 404 Not Found", 404},
		{"a bug", `{}`, "the gateway answered 500 Internal Server Error", 500},
	} {
		calls := 0
		client := clientOf(func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := client.Submit(t.Context(), Order{}, "k")
		var p *Problem
		if !errors.As(err, &p) || p.Status != c.status || err.Error() != c.want || calls != 1 {
			t.Errorf("%s: %v after %d calls, want %s", c.name, err, calls, c.want)
		}
	}
}

func TestAGatewayThatIsAwayIsWaitedForAsLongAsItSays(t *testing.T) {
	for _, status := range []int{429, 502, 503, 504} {
		synctest.Test(t, func(t *testing.T) {
			calls, keys := 0, map[string]bool{}
			c := clientOf(func(w http.ResponseWriter, r *http.Request) {
				keys[r.Header.Get("Idempotency-Key")] = true
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != `{}` {
					t.Errorf("call %d has the body %s, %v", calls+1, body, err)
				}
				if calls++; calls <= 2 {
					w.Header().Set("Retry-After", "7")
					w.WriteHeader(status)
					return
				}
				give(t, w, http.StatusAccepted, Job{ID: "j"})
			})
			began := time.Now()
			job, err := c.Submit(t.Context(), Order{}, "one key")
			if err != nil || job.ID != "j" || calls != 3 || len(keys) != 1 {
				t.Errorf("%d: %+v, %v after %d calls under %v", status, job, err, calls, keys)
			}
			if took := time.Since(began); took != 14*time.Second {
				t.Errorf("%d: it waited %v, the gateway had said 2 × 7 s", status, took)
			}
		})
	}
}

func TestAGatewayThatStaysAwayIsToldWithWhatItSaid(t *testing.T) {
	for name, after := range map[string]string{"says when": "20", "does not say": ""} {
		synctest.Test(t, func(t *testing.T) {
			c := clientOf(func(w http.ResponseWriter, _ *http.Request) {
				if after != "" {
					w.Header().Set("Retry-After", after)
				}
				give(t, w, http.StatusServiceUnavailable, map[string]string{"detail": "The database does not answer."})
			})
			began := time.Now()
			_, err := c.Get(t.Context(), "j")
			if took := time.Since(began); took > time.Minute || took < 20*time.Second {
				t.Errorf("%s: it gave up after %v", name, took)
			}
			var p *Problem
			if !errors.As(err, &p) || p.Status != 503 || !strings.Contains(err.Error(), "The database does not answer.") {
				t.Errorf("%s: the error is %v", name, err)
			}
		})
	}
}

func TestAnEndedContextEndsTheWaitForAGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		c := clientOf(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		began := time.Now()
		if _, err := c.Get(ctx, "j"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestFollowTellsEachLookAndEndsWithTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := []Job{
			{ID: "j", Status: export.Queued, Place: 1, Notice: &Notice{Code: "no-worker", Message: "None."}},
			{ID: "j", Status: export.Running, Phase: export.PhaseFetch, Percent: 50, RowsExpected: 10, RowsWritten: 5},
			{ID: "j", Status: export.Failed, Failure: &export.Failure{Code: "unavailable", Message: "Away."}},
		}
		looks := 0
		c := clientOf(func(w http.ResponseWriter, _ *http.Request) {
			give(t, w, http.StatusOK, told[looks])
			looks++
		})
		var seen []Job
		began := time.Now()
		last, err := c.Follow(t.Context(), "j", time.Second, func(j Job) { seen = append(seen, j) })
		if diff := cmp.Diff(told, seen); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(told[2], last); diff != "" {
			t.Errorf("the end (-want +got):\n%s", diff)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("three looks a second apart took %v", took)
		}
	})
}

func TestFollowEndsWithItsContextOrAJobThatIsNone(t *testing.T) {
	c := clientOf(func(w http.ResponseWriter, _ *http.Request) {
		give(t, w, http.StatusOK, Job{ID: "j", Status: export.Running})
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("the user has left")
	if j, err := c.Follow(ctx, "j", time.Hour, func(Job) { cancel(left) }); !errors.Is(err, left) || j.Status != export.Running {
		t.Errorf("got %+v, %v", j, err)
	}
	gone := clientOf(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	if _, err := gone.Follow(t.Context(), "j", time.Hour, func(Job) { t.Error("a job that is none was told") }); err == nil {
		t.Error("no error")
	}
}

func TestAnAnswerThatIsNoJobIsAnError(t *testing.T) {
	var calls atomic.Int64
	c := clientOf(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, "<html>a proxy's page")
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Get(ctx, "j"); err == nil || !strings.Contains(err.Error(), "read the gateway's answer") || calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, calls.Load())
	}
}
