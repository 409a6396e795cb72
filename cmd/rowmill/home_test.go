package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/gateway"
	"rowmill/home"
	"rowmill/ingest"
	"rowmill/internal/config"
	"rowmill/repository"
)

// importBoard imports rows as the command does, and so makes up a home board.
func importBoard(t *testing.T, a *app) {
	t.Helper()
	var out bytes.Buffer
	if err := loadInto(t.Context(), streams{&out, &out}, repository.NewLoader(a.db), ingest.Synthetic(50, 1), 50); err != nil {
		t.Fatal(err)
	}
	has(t, "the import", out.String(), "imported 50 reservations", "made up a home board of 37 sections")
}

// another starts one more gateway of the product, whose limit of calls is none.
func another(t *testing.T, a *app) *app {
	t.Helper()
	cfg := *a.cfg
	cfg.Roles, cfg.GatewayAddr, cfg.ReservationsURL = []string{string(config.Gateway)}, "127.0.0.1:0", a.reservations.url()
	b, err := newApp(t.Context(), &cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return b
}

func readBoard(t *testing.T, a *app) (v gateway.HomeView) {
	t.Helper()
	got := call(t, a, "GET", "/api/v1/home", "")
	if err := json.Unmarshal(got.body, &v); err != nil || got.status != 200 {
		t.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	return v
}

func sectionOf(v gateway.HomeView, id int64) (found gateway.HomeSectionView) {
	for _, s := range v.Sections {
		if s.ID == id {
			found = s
		}
	}
	return found
}

// A section that one gateway changes is another's too, whose copy would be fresh for
// an hour.
func TestAChangeOfTheBoardIsAnsweredByEveryGateway(t *testing.T) {
	one, _ := boot(t, 0, func(c *config.Config) { c.HomeL1TTL, c.HomeL2TTL = 10*time.Minute, time.Hour })
	importBoard(t, one)
	two := another(t, one)
	before, same := readBoard(t, one), readBoard(t, two)
	before.AsOf, same.AsOf = time.Time{}, time.Time{}
	if diff := cmp.Diff(before, same); diff != "" || len(before.Sections) < 20 {
		t.Fatalf("%d sections (-one +two):\n%s", len(before.Sections), diff)
	}
	var longest time.Duration
	for n := range 5 {
		title := fmt.Sprintf("제목 %d", n)
		got := call(t, one, "PUT", "/api/v1/home/sections/9", fmt.Sprintf(`{"title":%q,"position":%d,"product_ids":[%d,1]}`, title, n, n+2))
		if got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		changed := time.Now()
		if s := sectionOf(readBoard(t, one), 9); s.Title != title {
			t.Errorf("who changed it answers %+v", s)
		}
		until(t, "the other gateway answers the new state", func() bool { return sectionOf(readBoard(t, two), 9).Title == title })
		longest = max(longest, time.Since(changed))
		s := sectionOf(readBoard(t, two), 9)
		if diff := cmp.Diff([]int64{int64(n) + 2, 1}, s.ProductIDs); diff != "" || s.Position != n || s.Kind != home.Carousel || s.AvailableUnits == 0 {
			t.Errorf("it answers %+v", s)
		}
	}
	t.Logf("the other gateway answered the new state %v after the change at most", longest)
	if n := count(t, one, "SELECT COUNT(*) FROM audit_events WHERE action = 'home.change'"); n != 5 {
		t.Errorf("the audit has %d changes", n)
	}
}

// The embedded product has its board too, and counts what its cache does.
func TestTheEmbeddedProductHasABoard(t *testing.T) {
	b := bootBrowserApp(t, browserOptions{rows: 20, idle: true, change: func(c *config.Config) { c.AdminAddr = "127.0.0.1:0" }})
	if got := readBoard(t, b.front.app); len(got.Sections) < 20 {
		t.Errorf("%d sections", len(got.Sections))
	}
	readBoard(t, b.front.app)
	_, metrics := admin(t, b.front.app, "/metrics")
	has(t, "the metrics", metrics, `rowmill_cache_events_total{event="load"} 1`, `rowmill_cache_events_total{event="first-hit"} 1`)
}
