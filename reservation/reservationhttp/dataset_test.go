package reservationhttp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

func snapshotOf(t *testing.T, c *Client, pageSize int) (export.Snapshot, error) {
	t.Helper()
	return NewDataset(c, pageSize).Source.Snapshot(t.Context(), inTheClear, export.Request{})
}

// Every id of the snapshot comes back as a row or as deleted, in order.
func TestDatasetGivesEveryRowOnce(t *testing.T) {
	ids := upTo(2345)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	store := &fakeStore{ids: ids, absent: map[int64]bool{1: true, 77: true, 2345: true}}
	base, _ := serve(t, store)
	d := NewDataset(newTestClient(t, base), 100)
	snapshot, err := d.Source.Snapshot(t.Context(), inTheClear, export.Request{Filter: map[string][]string{"status": {"Canceled"}}, Sort: "check_in", Order: "desc"})
	if err != nil {
		t.Fatal(err)
	}
	if snapshot.Total != 2345 || len(snapshot.Pages) != 24 || snapshot.Statements != 1 || !snapshot.At.Equal(snapshotAt) {
		t.Errorf("got total %d, %d pages, %d statements, at %v", snapshot.Total, len(snapshot.Pages), snapshot.Statements, snapshot.At)
	}
	q, _ := store.query()
	want := reservation.Query{
		Filter: reservation.Filter{Conditions: []reservation.Condition{{Field: "status", Op: reservation.Equal, Values: []table.Value{table.TextOf("Canceled")}}}},
		Sort:   reservation.Sort{Field: "check_in", Desc: true},
		Scope:  inTheClear,
	}
	if diff := cmp.Diff(want, q, sameValue); diff != "" {
		t.Error(diff)
	}
	var keys []int64
	deleted := 0
	for _, token := range snapshot.Pages {
		page, err := d.Source.Fetch(t.Context(), inTheClear, token, []string{"id", "guest_name", "amount"})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Rows)+page.Deleted != token.Rows || page.Statements != 3 {
			t.Errorf("%d rows and %d deleted of %d, %d statements", len(page.Rows), page.Deleted, token.Rows, page.Statements)
		}
		deleted += page.Deleted
		for _, row := range page.Rows {
			keys = append(keys, row.Key)
		}
	}
	there := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return store.absent[id] })
	if diff := cmp.Diff(there, keys); diff != "" || deleted != 3 {
		t.Errorf("%d deleted\n%s", deleted, diff)
	}
}

func TestEmptySnapshot(t *testing.T) {
	base, _ := serve(t, &fakeStore{})
	snapshot, err := snapshotOf(t, newTestClient(t, base), 0)
	if err != nil || snapshot.Total != 0 || len(snapshot.Pages) != 0 || snapshot.At.IsZero() {
		t.Errorf("got %+v, %v", snapshot, err)
	}
}

func TestBrokenSnapshotIsReadAgainAsAWhole(t *testing.T) {
	whole := `{"ids":[5,4,9],"at":"2026-11-30T12:00:00Z","statements":1,"total":3}`
	for name, broken := range map[string]http.HandlerFunc{
		"cut in mid stream":      cut(whole[:12]),
		"cut after the JSON":     cut(whole),
		"ends in mid stream":     body(whole[:12]),
		"no total":               body(`{"ids":[5,4,9],"at":"2026-11-30T12:00:00Z","statements":1}`),
		"no ids, a total":        body(`{"at":"2026-11-30T12:00:00Z","total":3}`),
		"fewer than the total":   body(`{"ids":[5,4],"at":"2026-11-30T12:00:00Z","total":3}`),
		"more than the total":    body(`{"ids":[5,4,9,1],"at":"2026-11-30T12:00:00Z","total":3}`),
		"no time":                body(`{"ids":[5,4,9],"total":3}`),
		"a time that is none":    body(`{"ids":[5,4,9],"at":"now","total":3}`),
		"an id that is none":     body(`{"ids":[5,"4",9],"at":"2026-11-30T12:00:00Z","total":3}`),
		"something that follows": body(whole + whole),
	} {
		t.Run(name, func(t *testing.T) {
			c, calls := answers(t, broken, body(whole))
			snapshot, err := snapshotOf(t, c, 2)
			if err != nil || calls.Load() != 2 || snapshot.Total != 3 || len(snapshot.Pages) != 2 {
				t.Fatalf("%d calls, %+v, %v", calls.Load(), snapshot, err)
			}
			var ids []int64
			for _, token := range snapshot.Pages {
				page, err := unpack(token)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, page...)
			}
			if diff := cmp.Diff([]int64{5, 4, 9}, ids); diff != "" {
				t.Error(diff)
			}
			c, calls = answers(t, broken)
			if snapshot, err := snapshotOf(t, c, 2); fault.KindOf(err) != fault.Unavailable || calls.Load() != 3 || snapshot.Pages != nil {
				t.Errorf("%d calls, %+v, %v", calls.Load(), snapshot, err)
			}
		})
	}
}

// The real server's failure in mid stream reaches the real client as one.
func TestSnapshotFailsWithItsStore(t *testing.T) {
	tries := 0
	base, _ := serve(t, &fakeStore{snapshotHook: func(_ context.Context, each func([]int64) error) (reservation.Snapshot, error) {
		if err := each(upTo(20_000)); err != nil {
			return reservation.Snapshot{}, err
		}
		if tries++; tries < 2 {
			return reservation.Snapshot{}, errors.New("lost the cursor")
		}
		return reservation.Snapshot{At: snapshotAt, Total: 20_000}, nil
	}})
	snapshot, err := snapshotOf(t, newTestClient(t, base), 5000)
	if err != nil || snapshot.Total != 20_000 || len(snapshot.Pages) != 4 {
		t.Errorf("got %d pages of %d, %v", len(snapshot.Pages), snapshot.Total, err)
	}
}

func TestTokensPackAnyIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, ids := range [][]int64{
		{1}, {math.MinInt64, math.MaxInt64, 0, -1, math.MaxInt64, math.MinInt64}, upTo(1000),
		func() (ids []int64) {
			for range 500 {
				ids = append(ids, randomInteger(r))
			}
			return ids
		}(),
	} {
		p := packer{size: len(ids)}
		for _, id := range ids {
			p.add(id)
		}
		p.cut()
		if len(p.pages) != 1 {
			t.Fatalf("%d pages", len(p.pages))
		}
		got, err := unpack(p.pages[0])
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAscendingIDsTakeAByteEach(t *testing.T) {
	p := packer{size: 1000}
	for id := range int64(1000) {
		p.add(1_000_000_000 + id)
	}
	if n := len(p.pages[0].Token); n > 1004 {
		t.Errorf("1,000 ids take %d bytes", n)
	}
}

func TestTokensThatAreNone(t *testing.T) {
	base, _ := serve(t, &fakeStore{})
	source := NewDataset(newTestClient(t, base), 0).Source
	for name, token := range map[string]export.PageToken{
		"empty":         {},
		"no rows":       {Token: []byte{2}},
		"too few bytes": {Rows: 2, Token: []byte{2}},
		"a huge count":  {Rows: math.MaxInt, Token: []byte{2}},
		"bytes left":    {Rows: 1, Token: []byte{2, 2}},
		"open varint":   {Rows: 1, Token: []byte{0x80}},
	} {
		if page, err := source.Fetch(t.Context(), inTheClear, token, []string{"id"}); fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
	}
	if _, err := source.Fetch(t.Context(), inTheClear, export.PageToken{Rows: 1, Token: []byte{2}}, []string{"secret"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("unknown field: %v", err)
	}
}

func TestDatasetCatalog(t *testing.T) {
	d := NewDataset(newTestClient(t, "http://127.0.0.1:1"), 1_000_000)
	if d.Name != "reservations" || d.Source.(*source).pageSize != reservation.MaxBatch {
		t.Errorf("name %q, page size %d", d.Name, d.Source.(*source).pageSize)
	}
	byKey := map[string]export.Column{}
	for _, c := range d.Columns {
		byKey[c.Key] = c
	}
	if len(byKey) != len(reservation.Fields()) {
		t.Errorf("%d columns for %d fields", len(byKey), len(reservation.Fields()))
	}
	want := export.Column{
		Key: "amount", Titles: map[string]string{"ko": "결제금액", "en": "Amount"}, Type: table.Decimal, Scale: 2,
		Width: 12, Format: "#,##0.00", Fields: []string{"amount"},
	}
	if diff := cmp.Diff(want, byKey["amount"]); diff != "" {
		t.Error(diff)
	}
	for _, key := range d.Defaults {
		if _, ok := byKey[key]; !ok {
			t.Errorf("default %q is no column", key)
		}
	}
}

func TestDatasetChecksRequests(t *testing.T) {
	d := NewDataset(newTestClient(t, "http://127.0.0.1:1"), 0)
	good := export.Request{Filter: map[string][]string{"status": {"Canceled"}}, Sort: "check_in", Order: "desc"}
	if err := d.Check(good); err != nil {
		t.Error(err)
	}
	for name, r := range map[string]export.Request{
		"filter": {Filter: map[string][]string{"secret": {"x"}}}, "sort": {Sort: "memo"}, "order": {Order: "up"},
	} {
		if err := d.Check(r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := d.Source.Snapshot(t.Context(), inTheClear, r); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := d.Check(export.Request{Filter: map[string][]string{"secret": {"x"}, "nights": {"many"}}, Sort: "memo"})
	var names []string
	if f, ok := fault.As(err); ok {
		for _, field := range f.Fields {
			names = append(names, field.Name)
		}
	}
	if diff := cmp.Diff([]string{"nights", "secret", "_sort"}, names); diff != "" || fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v names (-want +got):\n%s", err, diff)
	}
}
