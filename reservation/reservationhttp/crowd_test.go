package reservationhttp

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rowmill/export"
	"rowmill/internal/pool"
	"rowmill/reservation"
)

// within is a transport that calls a server in the process, so that both share the
// bubble's clock.
type within struct {
	server http.Handler

	mu     sync.Mutex
	turned []time.Time // when a call was turned away
}

func (w *within) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	w.server.ServeHTTP(rec, r)
	if rec.Code == http.StatusTooManyRequests {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turned = append(w.turned, time.Now())
	}
	return rec.Result(), nil
}

// A server of two places and a pool of eight: the pool learns, nothing is lost.
func TestAPoolFindsTheSizeThatAServerBears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, perPage = 3000, 3
		var mu sync.Mutex
		read := map[int64]int{}
		store := &fakeStore{ids: upTo(pages * perPage)}
		store.batchHook = func(_ context.Context, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
			time.Sleep(20 * time.Millisecond) // of the bubble's clock
			mu.Lock()
			defer mu.Unlock()
			for _, id := range ids {
				read[id]++
			}
			return reservation.Batch{Rows: fakeRows(ids, fields)}, nil
		}
		transport := &within{server: NewServer(Config{Store: store, Token: testToken, Capacity: Capacity{Pages: 2, Waiting: -1}})}
		dataset := NewDataset(NewClient(ClientConfig{BaseURL: "http://api", Token: testToken, HTTP: &http.Client{Transport: transport}}), perPage)
		snapshot, err := dataset.Source.Snapshot(t.Context(), inTheClear, export.Request{Sort: "id", Order: "asc"})
		if err != nil {
			t.Fatal(err)
		}
		fetch := pool.NewAdaptive(pool.Limits{Min: 1, Initial: 8, Max: 8}, slog.New(slog.DiscardHandler))
		start, next := time.Now(), int64(1)
		for page, err := range pool.Map(t.Context(), fetch.Lane(), 8, tokensOf(snapshot), func(ctx context.Context, token export.PageToken) (export.Page, error) {
			return dataset.Source.Fetch(ctx, inTheClear, token, []string{"id"})
		}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range page.Rows {
				if row.Key != next {
					t.Fatalf("row %d came where %d should", row.Key, next)
				}
				next++
			}
		}
		if next != pages*perPage+1 || len(read) != pages*perPage {
			t.Errorf("%d rows came of %d", next-1, pages*perPage)
		}
		for id, n := range read {
			if n != 1 {
				t.Errorf("row %d was read %d times", id, n)
			}
		}
		took, late := time.Since(start), 0
		for _, at := range transport.turned {
			if at.Sub(start) > 5*time.Second {
				late++
			}
		}
		if len(transport.turned) == 0 || late > int(took.Seconds()) {
			t.Errorf("in %v %d calls were turned away, %d of them once the pool should know", took, len(transport.turned), late)
		}
	})
}

func tokensOf(s export.Snapshot) iter.Seq2[export.PageToken, error] {
	return func(yield func(export.PageToken, error) bool) {
		for _, token := range s.Pages {
			if !yield(token, nil) {
				return
			}
		}
	}
}
