package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/home"
	"rowmill/internal/fault"
)

var board = home.Board{
	AsOf: now, Day: time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC),
	Products: map[int64]home.Product{5: {Name: "Garden <Suite>", Available: 1200}, 2: {Name: "온돌방"}},
	Sections: []home.Shown{
		{Section: home.Section{ID: 7, Kind: home.Ranking, Title: hostile, ProductIDs: []int64{5, 2}}, Available: 1200},
		{Section: home.Section{ID: 8, Kind: home.Grid, Title: "City breaks", ProductIDs: []int64{2}}},
		{Section: home.Section{ID: 1, Kind: home.Notice, Title: "점검 안내"}},
	},
}

func TestHomeShowsTheBoardInBothLanguages(t *testing.T) {
	w := newWorld(t, nil)
	w.board = board
	rec := w.get(with(access.ReadReservations), "/home?date=2026-12-24")
	wantAll(t, rec, 200, `<a href="/home" aria-current="page">Home</a>`, "24 Dec 2026", `value="2026-12-24"`, "Ranking", "Notice",
		"Garden &lt;Suite&gt;", "1,200 free", "1,200 free in all", "0 free", `<ol class="board ranked">`, `<ul class="board">`, "&lt;script&gt;alert(1)")
	wantNone(t, rec, hostile)
	if n := strings.Count(rec.Body.String(), "<section "); n != 3 {
		t.Errorf("%d sections", n)
	}
	wantAll(t, w.get(with(access.ReadReservations), "/home", "Accept-Language", "ko"), 200, `lang="ko"`, "순위", "공지", "예약 가능 1,200", "2026. 12. 24.")
	if diff := cmp.Diff([]time.Time{board.Day, {}}, w.days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
}

func TestHomeThatHasNothingToShowSaysSo(t *testing.T) {
	w := newWorld(t, nil)
	wantAll(t, w.get(with(access.ReadReservations), "/home"), 200, "No section is visible now")
	wantAll(t, w.get(with(access.ReadReservations), "/home?date=soon"), 400, "Date", "is not a day")
	w.boardErr = fault.New(fault.Unavailable, "The home board does not come in time.")
	wantAll(t, w.get(with(access.ReadReservations), "/home"), 503, "does not come in time")
	if len(w.days) != 2 {
		t.Errorf("the board was read %d times", len(w.days))
	}
}
