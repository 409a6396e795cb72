package export_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/internal/table"
)

// holds asks each part for the key, as the one who looks for its takers does.
func holds(t *testing.T, set export.RowSet, key int64) bool {
	t.Helper()
	found := 0
	for _, part := range set.Parts {
		in, err := part.Contains(key)
		if err != nil {
			t.Fatal(err)
		}
		if in && (key < part.Min || key > part.Max) {
			t.Errorf("key %d is in a part from %d to %d", key, part.Min, part.Max)
		}
		if in {
			found++
		}
	}
	if found > 1 {
		t.Errorf("key %d is in %d parts", key, found)
	}
	return found == 1
}

func TestWhichRowsAreInTheFileIsStoredBeforeItIsPublished(t *testing.T) {
	b := newBench(t, &source{total: 30, page: 10, fetch: func(_ context.Context, page int, rows []table.Row) (export.Page, error) {
		return export.Page{Rows: rows[page:], Deleted: page}, nil // 11, 21 and 22 are gone
	}})
	if err := b.Run(t.Context(), csvJob()); err != nil {
		t.Fatal(err)
	}
	set := b.attempts.rows
	if set == nil {
		t.Fatal("no set was there when the file was published")
	}
	if set.Dataset != "rows" || set.At.IsZero() || len(set.Parts) != 1 || set.Parts[0].Rows != 27 {
		t.Errorf("the set is %+v", set)
	}
	var in []int64
	for key := range int64(40) {
		if holds(t, *set, key) {
			in = append(in, key)
		}
	}
	var want []int64
	for key := int64(1); key <= 30; key++ {
		if key != 11 && key != 21 && key != 22 {
			want = append(want, key)
		}
	}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("the rows of the file (-want +got):\n%s", diff)
	}
}

func TestAFileWithoutRowsHasAnEmptySet(t *testing.T) {
	b := newBench(t, &source{page: 10})
	if err := b.Run(t.Context(), csvJob()); err != nil {
		t.Fatal(err)
	}
	if b.attempts.rows == nil || len(b.attempts.rows.Parts) != 0 {
		t.Errorf("the set is %+v", b.attempts.rows)
	}
}

func TestANegativeKeyIsRefused(t *testing.T) {
	b := newBench(t, &source{total: 1, page: 1, fetch: func(_ context.Context, _ int, rows []table.Row) (export.Page, error) {
		rows[0].Key = math.MinInt64
		return export.Page{Rows: rows}, nil
	}})
	if err := b.Run(t.Context(), csvJob()); err == nil || !strings.Contains(err.Error(), "not negative") || b.attempts.file != nil {
		t.Errorf("got %v, published %+v", err, b.attempts.file)
	}
}

// Ids far apart make a set of many bytes: 3,000,000 of them take more than one part.
func TestALargeSetIsCutIntoPartsThatHoldItWhole(t *testing.T) {
	const ids, apart = 3_000_000, 1009
	keys := func(yield func(int64) bool) {
		for n := range int64(ids) {
			if !yield(1 + n*apart) {
				return
			}
		}
	}
	parts, err := export.PartsOf(keys, export.MaxRowSetPart)
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) < 2 {
		t.Fatalf("%d parts show nothing", len(parts))
	}
	rows, last := int64(0), int64(0)
	for _, p := range parts {
		if len(p.Keys) > export.MaxRowSetPart || p.Min <= last || p.Max < p.Min {
			t.Errorf("a part of %d bytes from %d to %d follows %d", len(p.Keys), p.Min, p.Max, last)
		}
		rows, last = rows+p.Rows, p.Max
	}
	if rows != ids {
		t.Errorf("the parts have %d keys", rows)
	}
	set := export.RowSet{Parts: parts}
	for _, n := range []int64{0, 1, 7, ids / 2, ids - 1} {
		if !holds(t, set, 1+n*apart) || holds(t, set, 2+n*apart) {
			t.Errorf("key %d is not in the set, or its neighbour is", 1+n*apart)
		}
	}
}

func TestASmallestLimitStillKeepsEveryKey(t *testing.T) {
	parts, err := export.PartsOf(func(yield func(int64) bool) { _ = yield(5) && yield(6) && yield(1<<40) }, 1)
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	if set := (export.RowSet{Parts: parts}); !holds(t, set, 5) || !holds(t, set, 6) || !holds(t, set, 1<<40) || holds(t, set, 7) {
		t.Error("a key was lost or made up")
	}
}

func TestASpoiledSetIsAnError(t *testing.T) {
	parts, err := export.PartsOf(func(yield func(int64) bool) { _ = yield(5) && yield(700) }, export.MaxRowSetPart)
	if err != nil {
		t.Fatal(err)
	}
	whole := parts[0]
	for name, spoil := range map[string]func(*export.RowSetPart){
		"cut":       func(p *export.RowSetPart) { p.Keys = p.Keys[:len(p.Keys)-1] },
		"empty":     func(p *export.RowSetPart) { p.Keys = nil },
		"of others": func(p *export.RowSetPart) { p.Rows++ },
	} {
		p := whole
		spoil(&p)
		if _, err := p.Contains(5); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
