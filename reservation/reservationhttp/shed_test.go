package reservationhttp

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"rowmill/reservation"
)

// classCall is a valid call of each class.
var classCall = map[string]struct{ path, body string }{
	ClassPages:     {pathBatch, `{"ids":[1],"fields":["id"]}`},
	ClassSnapshots: {pathSnapshot, `{}`},
	ClassReads:     {pathList, `{"limit":1,"fields":["id"]}`},
}

// held is a store whose every call lasts until it is let go or its caller leaves.
func held(letGo <-chan struct{}) *fakeStore {
	wait := func(ctx context.Context) error {
		select {
		case <-letGo:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return &fakeStore{
		snapshotHook: func(ctx context.Context, _ func([]int64) error) (reservation.Snapshot, error) {
			return reservation.Snapshot{At: snapshotAt}, wait(ctx)
		},
		batchHook: func(ctx context.Context, ids []int64, _ []reservation.Field) (reservation.Batch, error) {
			return reservation.Batch{Absent: ids}, wait(ctx)
		},
		listHook: func(ctx context.Context) (reservation.List, error) { return reservation.List{}, wait(ctx) },
	}
}

// crowd calls a server that has no network, so that its clock can be the bubble's.
type crowd struct {
	server *echo.Echo
	all    sync.WaitGroup

	mu       sync.Mutex
	statuses map[int]int
	shed     map[string]int
}

func newCrowd(config Config) *crowd {
	c := &crowd{statuses: map[int]int{}, shed: map[string]int{}}
	config.Token = testToken
	config.OnShed = func(class string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.shed[class]++
	}
	c.server = NewServer(config)
	return c
}

func (c *crowd) call(ctx context.Context, class string) *httptest.ResponseRecorder {
	req, rec := newRecorded(http.MethodPost, classCall[class].path, classCall[class].body)
	req.Header.Set("Authorization", "Bearer "+testToken)
	c.server.ServeHTTP(rec, req.WithContext(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statuses[rec.Code]++
	return rec
}

func (c *crowd) start(ctx context.Context, class string, n int) {
	for range n {
		c.all.Go(func() { c.call(ctx, class) })
	}
	synctest.Wait()
}

func TestCallsBeyondTheCapacityWaitAndAreThenTurnedAway(t *testing.T) {
	for class := range classCall {
		t.Run(class, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				letGo := make(chan struct{})
				c := newCrowd(Config{Store: held(letGo), Capacity: Capacity{Pages: 2, Snapshots: 2, Reads: 2, Waiting: 3}})
				c.start(t.Context(), class, 2+6) // two are answered, six wait
				began := time.Now()
				rec := c.call(t.Context(), class) // and there is no room for one more
				p := readSent(t, rec.Result(), rec.Body.String())
				if rec.Code != http.StatusTooManyRequests || rec.Header().Get("Retry-After") != "1" || p.Type != "urn:rowmill:problem:overloaded" || time.Since(began) != 0 {
					t.Errorf("the ninth: %d %s, Retry-After %q, after %v", rec.Code, p.Type, rec.Header().Get("Retry-After"), time.Since(began))
				}
				for other := range classCall { // the other classes have places of their own
					if other != class {
						c.start(t.Context(), other, 1)
					}
				}
				time.Sleep(time.Second)
				synctest.Wait()
				c.mu.Lock()
				if d := cmp.Diff(map[int]int{http.StatusTooManyRequests: 7}, c.statuses); d != "" {
					t.Errorf("after the longest wait (-want +got):\n%s", d)
				}
				if d := cmp.Diff(map[string]int{class: 7}, c.shed); d != "" {
					t.Errorf("turned away (-want +got):\n%s", d)
				}
				c.mu.Unlock()
				close(letGo)
				c.all.Wait()
				if got := c.statuses[http.StatusOK]; got != 4 {
					t.Errorf("%d of 4 calls were answered: %v", got, c.statuses)
				}
			})
		})
	}
}

func TestACallThatWaitsIsAnsweredOnceThereIsAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		c := newCrowd(Config{Store: held(letGo), Capacity: Capacity{Pages: 1}})
		c.start(t.Context(), ClassPages, 5)
		time.Sleep(time.Second - 1)
		close(letGo)
		c.all.Wait()
		if d := cmp.Diff(map[int]int{http.StatusOK: 5}, c.statuses); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestACallerWhoGoesLeavesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		c := newCrowd(Config{Store: held(letGo), Capacity: Capacity{Pages: 1, Waiting: 1}})
		first, leave := context.WithCancel(t.Context())
		c.start(first, ClassPages, 1)
		waiting, leaveQueue := context.WithCancel(t.Context())
		c.start(waiting, ClassPages, 1)
		leaveQueue()
		synctest.Wait()
		c.start(t.Context(), ClassPages, 1) // takes the place in the queue
		leave()
		close(letGo)
		c.all.Wait()
		if len(c.shed) != 0 || c.statuses[http.StatusOK] != 1 || c.statuses[http.StatusServiceUnavailable] != 2 {
			t.Errorf("statuses %v, turned away %v", c.statuses, c.shed)
		}
	})
}

// Over a real connection: that a caller has gone is seen while its call waits.
func TestACallerWhoHangsUpIsSeenWhileItWaits(t *testing.T) {
	letGo, entered := make(chan struct{}), make(chan struct{}, 2)
	store := held(letGo)
	answer := store.batchHook
	store.batchHook = func(ctx context.Context, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
		entered <- struct{}{}
		return answer(ctx, ids, fields)
	}
	gone := make(chan struct{}, 1)
	e := NewServer(Config{Store: store, Token: testToken, Capacity: Capacity{Pages: 1, Wait: time.Hour}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(w, r)
		if r.Context().Err() != nil {
			gone <- struct{}{}
		}
	}))
	defer server.Close()
	c := newTestClient(t, server.URL)
	var all sync.WaitGroup
	all.Go(func() {
		if _, _, err := c.Batch(t.Context(), inTheClear, []int64{1}, fieldsOf(t, "id")); err != nil {
			t.Error(err)
		}
	})
	<-entered
	sent, hangUp := context.WithCancel(t.Context())
	sent = httptrace.WithClientTrace(sent, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { hangUp() }})
	if _, _, err := c.Batch(sent, inTheClear, []int64{1}, fieldsOf(t, "id")); !errors.Is(err, context.Canceled) {
		t.Errorf("the one who hung up got %v", err)
	}
	<-gone // an hour before its wait would end
	close(letGo)
	all.Wait()
}

func TestLiveIsNeverTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		c := newCrowd(Config{Store: held(letGo), Capacity: Capacity{Pages: 1, Snapshots: 1, Reads: 1, Waiting: -1}})
		for class := range classCall {
			c.start(t.Context(), class, 1)
		}
		req, rec := newRecorded(http.MethodGet, pathLive, "")
		c.server.ServeHTTP(rec, req)
		if rec.Code != http.StatusOK {
			t.Errorf("/livez answers %d", rec.Code)
		}
		close(letGo)
		c.all.Wait()
	})
}
