package reservationhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// scripted is a transport without a network, so that a test's clock can be the
// bubble's.
type scripted struct {
	calls []time.Time
	give  func(call int) *http.Response
}

func (s *scripted) RoundTrip(*http.Request) (*http.Response, error) {
	s.calls = append(s.calls, time.Now())
	if res := s.give(len(s.calls)); res != nil {
		return res, nil
	}
	return nil, errors.New("connection refused")
}

func response(status int, body string, header ...string) *http.Response {
	res := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i < len(header); i += 2 {
		res.Header.Set(header[i], header[i+1])
	}
	return res
}

func (s *scripted) client(config ClientConfig) *Client {
	config.BaseURL, config.HTTP = "http://api", &http.Client{Transport: s}
	return NewClient(config)
}

// waits gives the pauses between the calls.
func (s *scripted) waits() (waits []time.Duration) {
	for i := 1; i < len(s.calls); i++ {
		waits = append(waits, s.calls[i].Sub(s.calls[i-1]))
	}
	return waits
}

const wholeCount = `{"fields":["id"],"rows":[],"total":0}`

func TestRetryAfterIsObeyed(t *testing.T) {
	for name, header := range map[string]func() string{
		"seconds": func() string { return "7" },
		"date":    func() string { return time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{give: func(call int) *http.Response {
					if call == 1 {
						return response(429, "", "Retry-After", header())
					}
					return response(200, wholeCount)
				}}
				if _, err := s.client(ClientConfig{}).Count(t.Context(), reservation.Query{}); err != nil {
					t.Fatal(err)
				}
				if w := s.waits(); len(w) != 1 || w[0] < 7*time.Second || w[0] > 8*time.Second {
					t.Errorf("waited %v", w)
				}
			})
		})
	}
}

func TestRetryAfterPastPatienceGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(int) *http.Response { return response(429, "", "Retry-After", "3600") }}
		_, err := s.client(ClientConfig{}).Count(t.Context(), reservation.Query{})
		f, _ := fault.As(err)
		if len(s.calls) != 1 || f == nil || f.Kind != fault.Overloaded || f.RetryAfter != time.Hour {
			t.Errorf("%d calls, %v", len(s.calls), err)
		}
	})
}

// A server that first asks for a second and then for thousands of years is not waited for.
func TestAnAbsurdRetryAfterIsNotObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(call int) *http.Response {
			if call == 1 {
				return response(429, "", "Retry-After", "1")
			}
			return response(429, "", "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := s.client(ClientConfig{}).Count(ctx, reservation.Query{})
		if f, _ := fault.As(err); len(s.calls) != 2 || f == nil || f.Kind != fault.Overloaded || f.RetryAfter != mostAfter {
			t.Errorf("%d calls, %v", len(s.calls), err)
		}
	})
}

func TestARefusalIsNoTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(call int) *http.Response {
			switch {
			case call == 2:
				return nil // a fault between
			case call <= 10:
				return response(429+(call%2)*74, "", "Retry-After", "1") // 429 and 503 in turn
			}
			return response(200, wholeCount)
		}}
		if _, err := s.client(ClientConfig{Attempts: 2}).Count(t.Context(), reservation.Query{}); err != nil || len(s.calls) != 11 {
			t.Fatalf("%d calls, %v", len(s.calls), err)
		}
		for i, w := range s.waits() {
			if i != 1 && (w < time.Second || w > mostSpread*3/2+time.Nanosecond) {
				t.Errorf("wait %d is %v", i, w)
			}
		}
	})
}

func TestALongRetryAfterIsObeyedWithinPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(call int) *http.Response {
			if call == 1 {
				return response(503, "", "Retry-After", "100")
			}
			return response(200, wholeCount)
		}}
		if _, err := s.client(ClientConfig{MaxWait: time.Second}).Count(t.Context(), reservation.Query{}); err != nil {
			t.Fatal(err)
		}
		if w := s.waits(); len(w) != 1 || w[0] < 100*time.Second || w[0] > 110*time.Second {
			t.Errorf("waited %v", w)
		}
	})
}

func TestPatienceEndsInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(int) *http.Response { return response(503, "", "Retry-After", "7") }}
		start := time.Now()
		_, err := s.client(ClientConfig{}).Count(t.Context(), reservation.Query{})
		f, _ := fault.As(err)
		if f == nil || f.Kind != fault.Overloaded || f.RetryAfter != 7*time.Second || !strings.Contains(f.Message, "more calls than it can answer and did not give a page of the list") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took < 113*time.Second || took > 2*time.Minute {
			t.Errorf("it gave up after %v and %d calls", took, len(s.calls))
		}
	})
}

func TestTheImpatientTakeTheFirstRefusalForTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(int) *http.Response { return response(429, "", "Retry-After", "1") }}
		start := time.Now()
		_, err := s.client(ClientConfig{}).Impatient().Count(t.Context(), reservation.Query{})
		f, _ := fault.As(err)
		if f == nil || f.Kind != fault.Overloaded || f.RetryAfter != time.Second || len(s.calls) != 1 || time.Since(start) != 0 {
			t.Errorf("after %v and %d calls: %v", time.Since(start), len(s.calls), err)
		}
	})
}

func TestWaitsGrowAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(int) *http.Response { return nil }}
		_, err := s.client(ClientConfig{Attempts: 8, FirstWait: time.Second, MaxWait: 10 * time.Second}).Count(t.Context(), reservation.Query{})
		if fault.KindOf(err) != fault.Unavailable || len(s.calls) != 8 {
			t.Fatalf("%d calls, %v", len(s.calls), err)
		}
		for i, w := range s.waits() {
			middle := min(time.Second<<i, 10*time.Second)
			if w < middle/2 || w > middle*3/2+time.Nanosecond {
				t.Errorf("wait %d is %v, want %v ± 50 %%", i, w, middle)
			}
		}
	})
}

func TestEndedContextEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{give: func(int) *http.Response { return response(503, "", "Retry-After", "20") }}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.client(ClientConfig{}).Count(ctx, reservation.Query{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second || len(s.calls) != 1 {
			t.Errorf("after %v and %d calls: %v", time.Since(start), len(s.calls), err)
		}
	})
}

// drip is a stream that flows slowly but never stops.
type drip struct {
	text  string
	pause time.Duration
}

func (d *drip) Read(p []byte) (int, error) {
	time.Sleep(d.pause) // of the bubble's clock
	if d.text == "" {
		return 0, io.EOF
	}
	p[0], d.text = d.text[0], d.text[1:]
	return 1, nil
}

// A snapshot may take as long as it flows, however long that is in all.
func TestSlowSnapshotIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := `{"ids":[1,2,3],"at":"2026-11-30T12:00:00Z","statements":1,"total":3}`
		s := &scripted{give: func(int) *http.Response {
			res := response(200, "")
			res.Body = io.NopCloser(&drip{text, 50 * time.Second})
			return res
		}}
		c := s.client(ClientConfig{Silence: time.Minute, Timeout: time.Second})
		snapshot, err := snapshotOf(t, c, 10)
		if err != nil || snapshot.Total != 3 || len(s.calls) != 1 {
			t.Errorf("%d calls, %+v, %v", len(s.calls), snapshot, err)
		}
	})
}

// silent never answers.
type silent struct{ calls int }

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.calls++
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestSilenceHasADeadlineForEachTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(silent)
		c := NewClient(ClientConfig{
			BaseURL: "http://api", HTTP: &http.Client{Transport: s}, Attempts: 3,
			Timeout: time.Minute, Silence: time.Hour, FirstWait: time.Nanosecond, MaxWait: time.Nanosecond,
		})
		start := time.Now()
		_, err := c.Count(t.Context(), reservation.Query{})
		if took := time.Since(start).Round(time.Millisecond); fault.KindOf(err) != fault.Unavailable || s.calls != 3 || took != 3*time.Minute {
			t.Errorf("count: %d calls in %v, %v", s.calls, took, err)
		}
		start = time.Now()
		_, err = snapshotOf(t, c, 10)
		if took := time.Since(start).Round(time.Millisecond); fault.KindOf(err) != fault.Unavailable || s.calls != 6 || took != 3*time.Hour {
			t.Errorf("snapshot: %d calls in %v, %v", s.calls, took, err)
		}
	})
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "0": 0, "5": 5 * time.Second, "-5": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0,
		"Mon, 30 Nov 2026 12:00:09 GMT": 9 * time.Second, "Mon, 30 Nov 2026 11:00:00 GMT": 0,
		"2147483647": mostAfter, "Fri, 31 Dec 9999 23:59:59 GMT": mostAfter,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}
