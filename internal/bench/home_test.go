package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/home"
	"rowmill/internal/fault"
	"rowmill/internal/testdb"
)

// cheap measures what an answer costs, and no load.
var cheap = HomeConfig{Start: 5, Most: 5, Steady: time.Millisecond, Step: 50 * time.Millisecond, Tries: 1, Parallel: 8}

// What must hold: the product's origin takes at most six statements and saves 95 of 100
// bytes; a warm cache takes one.
func TestTheHomeLadderTellsWhatItAsked(t *testing.T) {
	for _, dsn := range []string{"", testdb.MySQL(t)} {
		var notes []string
		c := cheap
		c.MySQLDSN = dsn
		r, err := Home(t.Context(), c, func(what string) { notes = append(notes, what) })
		if err != nil {
			t.Fatal(err)
		}
		var first, next []int64
		for i, s := range r.Ladder {
			first, next = append(first, s.First.Statements), append(next, s.Next.Statements)
			if s.Rung != i+1 || s.Name != notes[i] || s.Steps != nil || s.CPUMillis <= 0 && runtime.GOOS == "linux" {
				t.Errorf("rung %d: %+v", i+1, s)
			}
		}
		if diff := cmp.Diff([][]int64{{51, 51, 5, 4, 4}, {51, 51, 5, 4, 1}}, [][]int64{first, next}); diff != "" {
			t.Errorf("statements of the first and the next answer (-want +got):\n%s", diff)
		}
		baseline, batch, origin, product := r.Ladder[0], r.Ladder[2], r.Ladder[3], r.Ladder[4]
		if b := baseline.Next.Bytes; b < 2_400_000 || b > 2_600_000 || r.Ladder[1].Next != baseline.Next {
			t.Errorf("the first rung reads %d bytes, the second %d", b, r.Ladder[1].Next.Bytes)
		}
		if origin.First.Statements > 6 || origin.BytesSaved < 0.95 || product.First != origin.First || batch.BytesSaved >= origin.BytesSaved {
			t.Errorf("batch %+v, origin %+v, product %+v", batch, origin, product)
		}
		if product.FromOrigin != 1 || product.FromCopies < 2 || r.AnswerBytes < 3000 || r.AnswerBytes > 6000 {
			t.Errorf("%d structures from copies, %d loaded, answers of %d bytes", product.FromCopies, product.FromOrigin, r.AnswerBytes)
		}
	}
}

func TestTheLoadOfTheHomeLadderIsCounted(t *testing.T) {
	c := cheap
	c.Load, c.Start, c.Most, c.Step, c.Steady = true, 20, 40, 200*time.Millisecond, 200*time.Millisecond
	c.RedisURL = testdb.Redis(t)
	r, err := Home(t.Context(), c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Ladder {
		for _, step := range append(s.Steps, s.Steady) {
			if n := step.Right + step.Wrong + step.Fallback + step.Failed; n < 1 || n > step.Asked/5+1 || step.Wrong+step.Failed > 0 {
				t.Errorf("rung %d: %+v", s.Rung, step)
			}
		}
		if len(s.Steps) == 0 || s.Steps[0].Asked != 20 || s.Steady.Asked != 20 {
			t.Errorf("rung %d: %+v", s.Rung, s)
		}
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SQLite", "| 51 | 2488.6 |", "held, a second", "Cheaper origin, no copy of anything: from rung 1 to 4, 4 statements", "Hits: from rung 4 to 5", "share the cores"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// What a former bench has left serves the next; another board's is not taken for right.
func TestTheBoardOfAFormerBench(t *testing.T) {
	c := cheap
	c.MySQLDSN = testdb.MySQL(t)
	if _, err := Home(t.Context(), c, quiet); err != nil {
		t.Fatal(err)
	}
	if _, err := Home(t.Context(), c, quiet); err != nil {
		t.Errorf("a second time: %v", err)
	}
	meddle := func(what string) {
		if strings.HasPrefix(what, "+ one batch") {
			db := openTest(t, c.MySQLDSN)
			if _, err := db.raw.ExecContext(t.Context(), "UPDATE inventories SET available = available + 1"); err != nil {
				t.Error(err)
			}
		}
	}
	_, err := Home(t.Context(), c, meddle)
	if err == nil || !strings.Contains(err.Error(), "rung 3") || !strings.Contains(err.Error(), "is not the right one") {
		t.Errorf("an answer that is not right: %v", err)
	}
}

func TestAHomeBenchThatCannotBegin(t *testing.T) {
	c := cheap
	c.MySQLDSN = testdb.MySQL(t)
	db := openTest(t, c.MySQLDSN)
	if _, err := db.raw.ExecContext(t.Context(), "CREATE TABLE precious (id INTEGER)"); err != nil {
		t.Fatal(err)
	}
	if _, err := Home(t.Context(), c, quiet); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a database of somebody else: %v", err)
	}
	c = cheap
	c.RedisURL = "nonsense"
	if _, err := Home(t.Context(), c, quiet); err == nil || !strings.Contains(err.Error(), "rung 5") {
		t.Errorf("a Redis that is none: %v", err)
	}
}

func TestWhatAHomeConfigMayNotBe(t *testing.T) {
	tests := []struct {
		change func(c *HomeConfig)
		want   string
	}{
		{func(c *HomeConfig) { c.Start = 0 }, "--start: 0 is not between 1 and 100000"},
		{func(c *HomeConfig) { c.Most = 4 }, "--most: 4 is not between 5 and 100000"},
		{func(c *HomeConfig) { c.Finer = 21 }, "--finer: 21 is not between 0 and 20"},
		{func(c *HomeConfig) { c.Tries = 0 }, "--tries: 0 is not between 1 and 10"},
		{func(c *HomeConfig) { c.Parallel = 0 }, "--parallel: 0 is not between 1 and 256"},
		{func(c *HomeConfig) { c.Start, c.Most = MaxLoad+1, MaxLoad+1 }, "--start: 100001 is not between 1 and 100000\n--most: 100001 is not between 100001 and 100000"},
		{func(c *HomeConfig) { c.Tries, c.Parallel = 11, 257 }, "--tries: 11 is not between 1 and 10\n--parallel: 257 is not between 1 and 256"},
		{func(c *HomeConfig) { c.Finer, c.RTT = -1, 11*time.Second }, "--finer: -1 is not between 0 and 20\n--rtt: 11s is not between 0s and 10s"},
		{func(c *HomeConfig) { c.Steady = 0 }, "--steady: 0s is not between 1ns and 10m0s"},
		{func(c *HomeConfig) { c.Step, c.RTT = time.Hour, -1 }, "--step: 1h0m0s is not between 1ns and 10m0s\n--rtt: -1ns is not between 0s and 10s"},
	}
	for _, test := range tests {
		c := cheap
		test.change(&c)
		if _, err := Home(t.Context(), c, quiet); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	for _, c := range []HomeConfig{
		{Start: 1, Most: 1, Steady: 1, Step: 1, Tries: 1, Parallel: 1},
		{Start: MaxLoad, Most: MaxLoad, Steady: MaxStep, Step: MaxStep, Finer: 20, Tries: 10, Parallel: 256, RTT: MaxDelay},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v, which is at its bounds: %v", c, err)
		}
	}
}

func TestTheHomeHandler(t *testing.T) {
	broken := errors.New("broken")
	board := home.Board{AsOf: homeMoment, Day: homeDay, Sections: []home.Shown{{Section: home.Section{ID: 7, Kind: home.Banner, Title: "t", Position: 2}}}}
	want := `{"as_of":"2026-03-10T12:00:00Z","date":"2026-03-10","sections":[{"id":7,"kind":"banner","title":"t","position":2,"product_ids":[],"available_units":0}]}`
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		fail error
		want verdict
	}{
		{"a board", t.Context(), nil, right},
		{"a fault", t.Context(), broken, failed},
		{"no time", gone, context.Canceled, fallback},
	}
	for _, test := range tests {
		h := &homeHandler{day: homeDay, boards: boardFunc(func(_ context.Context, day time.Time) (home.Board, error) {
			if !day.Equal(homeDay) {
				t.Errorf("%s: asked for %v", test.name, day)
			}
			return board, test.fail
		})}
		h.limit.Store(int64(time.Hour))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(test.ctx, http.MethodGet, "/", nil))
		if got := judgeBy([]byte(want))(w.Code, w.Body.Bytes()); got != test.want {
			t.Errorf("%s: verdict %d, want %d: %s", test.name, got, test.want, w.Body)
		}
		if cause := h.fault.Load(); (cause != nil) != errors.Is(test.fail, broken) {
			t.Errorf("%s: noted %v", test.name, cause)
		}
	}
	if got := judgeBy([]byte(want))(http.StatusOK, []byte("{}")); got != wrong {
		t.Errorf("another body with status 200: verdict %d", got)
	}
}

func TestTheReportOfHomeIsJSON(t *testing.T) {
	r := HomeReport{Ladder: []HomeStep{
		{Held: LoadStep{Asked: 10}, Next: HomePart{50, 1000}}, {Held: LoadStep{Asked: 160}, Next: HomePart{4, 40}}, {Held: LoadStep{}, Next: HomePart{1, 10}},
	}}
	r.finish()
	text, err := json.Marshal(r)
	if err != nil || !bytes.Contains(text, []byte(`"times_held":16,"bytes_saved":0.96`)) {
		t.Errorf("%v: %s", err, text)
	}
	none := HomeReport{Ladder: []HomeStep{{}, {Held: LoadStep{Asked: 5}}}}
	none.finish()
	want := []HomeStep{{BytesSaved: 1}, {Held: LoadStep{Asked: 5}, BytesSaved: 1}}
	if diff := cmp.Diff(want, none.Ladder); diff != "" {
		t.Errorf("where the first rung holds nothing (-want +got):\n%s", diff)
	}
}
