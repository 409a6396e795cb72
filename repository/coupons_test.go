package repository

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"rowmill/coupon"
	"rowmill/ingest"
	"rowmill/internal/fault"
	"rowmill/internal/telemetry"
	"rowmill/internal/testdb"
)

// couponRule is in force on firstDay and the day after.
func couponRule(id int64) coupon.Rule {
	return coupon.Rule{ID: id, Code: fmt.Sprintf("쿠폰 %d", id), Kind: coupon.Rate, Value: 1000, Cap: 5_00, Minimum: 10_00, Currency: "EUR",
		From: firstDay, Until: firstDay.AddDate(0, 0, 2).Add(time.Microsecond), Stock: id % 3, HeldOnly: id%2 == 0}
}

func put(t *testing.T, c *Coupons, set coupon.Set) {
	t.Helper()
	if err := c.Put(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}

var anyOrder = cmpopts.SortSlices(func(a, b coupon.Rule) bool { return a.ID < b.ID })

func TestCouponRulesComeBackAsTheyWereStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		c := NewCoupons(db)
		book, err := c.Rules(t.Context(), firstDay, firstDay, "somebody")
		if err != nil || len(book.Rules) > 0 || book.Versions != (coupon.Versions{}) {
			t.Errorf("before there are any: %+v, %v", book, err)
		}
		owner := coupon.OwnerOf("somebody")
		set := coupon.Set{Rules: []coupon.Rule{couponRule(1), couponRule(2), couponRule(3)}, Excluded: []int64{4, 9}, Holders: []coupon.Holder{
			{Owner: owner, Product: coupon.EveryProduct, Rule: 1}, {Owner: owner, Product: 4, Rule: 2}, {Owner: owner, Product: 4, Rule: 3}, {Owner: "other", Product: 5, Rule: 1},
		}}
		put(t, c, set)
		put(t, c, set) // again is the same
		ctx, sent := telemetry.CountStatements(t.Context())
		book, err = c.Rules(ctx, firstDay, firstDay, owner)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(set.Rules, book.Rules, anyOrder); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		excluded, err := c.Excluded(ctx)
		if diff := cmp.Diff(coupon.ExcludedFacts{Version: book.Excluded, Products: []int64{4, 9}}, excluded); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		left, err := c.Left(ctx, []int64{1, 2, 77})
		if diff := cmp.Diff(coupon.LeftFacts{Version: book.Left, Left: map[int64]int64{1: 1, 2: 2}}, left); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		held, err := c.Held(ctx, owner)
		if diff := cmp.Diff(coupon.HeldFacts{Version: book.Held, Owner: owner, Held: map[int64][]int64{0: {1}, 4: {2, 3}}}, held); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if sent.Count() != 4 {
			t.Errorf("%d statements", sent.Count())
		}
		if held, err := c.Held(ctx, "nobody"); err != nil || held.Version != "" || len(held.Held) > 0 {
			t.Errorf("who never held one: %+v, %v", held, err)
		}
	})
}

func TestRulesThatMayApplyAreThoseWhoseWindowTouches(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		c := NewCoupons(db)
		r := couponRule(1)
		put(t, c, coupon.Set{Rules: []coupon.Rule{r}})
		for _, x := range []struct {
			after, before time.Time
			want          int
		}{
			{r.From, r.From, 1}, {r.From.Add(-time.Microsecond), r.From.Add(-time.Microsecond), 0},
			{r.Until.Add(-time.Microsecond), r.Until.Add(-time.Microsecond), 1}, {r.Until, r.Until, 0},
			{r.From.AddDate(-1, 0, 0), r.From, 1}, {r.Until, r.Until.AddDate(1, 0, 0), 0}, {r.From.AddDate(-1, 0, 0), r.Until.AddDate(1, 0, 0), 1},
		} {
			book, err := c.Rules(t.Context(), x.after, x.before, "")
			if err != nil || len(book.Rules) != x.want {
				t.Errorf("%v to %v: %d rules, %v; want %d", x.after, x.before, len(book.Rules), err, x.want)
			}
		}
	})
}

func TestAChangeRenewsTheVersionsOfWhatItTouches(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		c := NewCoupons(db)
		holder := coupon.Holder{Owner: "o", Product: 1, Rule: 1}
		put(t, c, coupon.Set{Rules: []coupon.Rule{couponRule(1)}, Excluded: []int64{1}, Holders: []coupon.Holder{holder}})
		versions := func() coupon.Versions {
			book, err := c.Rules(t.Context(), firstDay, firstDay, "o")
			if err != nil {
				t.Fatal(err)
			}
			return book.Versions
		}
		last := versions()
		for name, x := range map[string]struct {
			do   func(context.Context) error
			want [3]bool // excluded, left, held
		}{
			"rule":           {func(ctx context.Context) error { return c.Put(ctx, coupon.Set{Rules: []coupon.Rule{couponRule(1)}}) }, [3]bool{false, true, false}},
			"excluded":       {func(ctx context.Context) error { return c.Put(ctx, coupon.Set{Excluded: []int64{2}}) }, [3]bool{true, false, false}},
			"no longer":      {func(ctx context.Context) error { return c.Withdraw(ctx, coupon.Set{Excluded: []int64{2}}) }, [3]bool{true, false, false}},
			"held":           {func(ctx context.Context) error { return c.Put(ctx, coupon.Set{Holders: []coupon.Holder{holder}}) }, [3]bool{false, false, true}},
			"no longer held": {func(ctx context.Context) error { return c.Withdraw(ctx, coupon.Set{Holders: []coupon.Holder{holder}}) }, [3]bool{false, false, true}},
			"somebody else's": {func(ctx context.Context) error {
				return c.Put(ctx, coupon.Set{Holders: []coupon.Holder{{Owner: "p", Product: 1, Rule: 1}}})
			}, [3]bool{}},
			"taken": {func(ctx context.Context) error { return c.Take(ctx, 1, firstDay) }, [3]bool{false, true, false}},
		} {
			if err := x.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			now := versions()
			if got := [3]bool{now.Excluded != last.Excluded, now.Left != last.Left, now.Held != last.Held}; got != x.want {
				t.Errorf("%s renews %v, want %v", name, got, x.want)
			}
			last = now
		}
	})
}

func TestABadRuleStoresNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		c := NewCoupons(db)
		bad := couponRule(2)
		bad.Value = 0
		err := c.Put(t.Context(), coupon.Set{Rules: []coupon.Rule{couponRule(1), bad}, Excluded: []int64{1}})
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v", err)
		}
		if n := scalar(t, db, "SELECT (SELECT COUNT(*) FROM coupon_rules) + (SELECT COUNT(*) FROM coupon_versions)"); n != 0 {
			t.Errorf("%d rows were stored", n)
		}
	})
}

// However many take at once, a rule is taken as often as it has a stock.
func TestFirstComeIsFirstServed(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		c := NewCoupons(db)
		limited, unlimited := couponRule(1), couponRule(3)
		limited.Stock = 5
		put(t, c, coupon.Set{Rules: []coupon.Rule{limited, unlimited}})
		var taken, refused atomic.Int64
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() {
				switch err := c.Take(t.Context(), 1, firstDay); {
				case err == nil:
					taken.Add(1)
				case fault.KindOf(err) == fault.Conflict:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if taken.Load() != 5 || refused.Load() != 15 {
			t.Errorf("%d taken, %d refused", taken.Load(), refused.Load())
		}
		put(t, c, coupon.Set{Rules: []coupon.Rule{limited}}) // stored again, it is not full again
		left, err := c.Left(t.Context(), []int64{1})
		if err != nil || left.Left[1] != 0 {
			t.Errorf("%+v, %v", left, err)
		}
		for range 3 {
			if err := c.Take(t.Context(), 3, firstDay); err != nil {
				t.Errorf("a rule without limit: %v", err)
			}
		}
		for _, at := range []time.Time{unlimited.From.Add(-time.Microsecond), unlimited.Until} {
			if err := c.Take(t.Context(), 3, at); fault.KindOf(err) != fault.Conflict {
				t.Errorf("out of its window: %v", err)
			}
		}
		if err := c.Take(t.Context(), 99, firstDay); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a rule that there is not: %v", err)
		}
		if err := c.Withdraw(t.Context(), coupon.Set{Rules: []coupon.Rule{unlimited}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Take(t.Context(), 3, firstDay); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a rule that was withdrawn: %v", err)
		}
	})
}

// A load brings the coupons of its products, and leaves those that are there.
func TestALoadBringsItsCoupons(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		loadRows(t, db, ingest.Synthetic(10, 1))
		want := ingest.Coupons(40)
		book, err := NewCoupons(db).Rules(t.Context(), time.Time{}.AddDate(1900, 0, 0), time.Time{}.AddDate(3000, 0, 0), "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Rules, book.Rules, anyOrder); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for table, n := range map[string]int{"coupon_excluded_products": len(want.Excluded), "coupon_holders": len(want.Holders)} {
			if got := scalar(t, db, "SELECT COUNT(*) FROM "+table); got != int64(n) || n == 0 {
				t.Errorf("%s has %d rows, want %d", table, got, n)
			}
		}
	})
	eachEngine(t, func(t *testing.T, db *DB) {
		put(t, NewCoupons(db), coupon.Set{Rules: []coupon.Rule{couponRule(1)}})
		loadRows(t, db, ingest.Synthetic(10, 1))
		if n := scalar(t, db, "SELECT COUNT(*) FROM coupon_rules"); n != 1 {
			t.Errorf("%d rules", n)
		}
	})
}

// couponYears fills the tables as years of campaigns would: most rules are over.
func couponYears(t *testing.T, db *DB) {
	t.Helper()
	var rules, excluded, holders [][]any
	for i := range 5000 {
		from := firstDay.AddDate(0, 0, i-4950)
		rules = append(rules, []any{i + 1, "C", "rate", 100, 0, 0, "", moment{from}, moment{from.AddDate(0, 0, 30)}, i % 3, 0, 0})
		excluded = append(excluded, []any{i + 1})
		holders = append(holders, []any{fmt.Sprintf("owner%d", i%500), i / 500, 1 + i%100})
	}
	insert(t, db, "coupon_rules (id, code, kind, value, cap_minor, minimum_minor, currency, valid_from, valid_until, stock, used, held_only)", rules)
	insert(t, db, "coupon_excluded_products (product_id)", excluded)
	insert(t, db, "coupon_holders (owner, product_id, rule_id)", holders)
	versions := [][]any{{"excluded", "1"}, {"stock", "2"}}
	for i := range 500 {
		versions = append(versions, []any{fmt.Sprintf("held:owner%d", i), "3"})
	}
	insert(t, db, "coupon_versions (name, version)", versions)
	if db.sqlite {
		exec(t, db, "ANALYZE")
	} else {
		exec(t, db, "ANALYZE TABLE coupon_rules, coupon_excluded_products, coupon_holders, coupon_versions")
	}
}

func couponQueries(t *testing.T, db *DB) map[string][]string {
	t.Helper()
	queries := map[string][]string{}
	for name, do := range map[string]func(*Coupons) error{
		"rules": func(c *Coupons) error {
			book, err := c.Rules(t.Context(), firstDay, firstDay, "owner7")
			if err == nil && (len(book.Rules) != 30 || book.Held != "3") {
				err = fmt.Errorf("%d rules, held %q", len(book.Rules), book.Held)
			}
			return err
		},
		"excluded": func(c *Coupons) error { _, err := c.Excluded(t.Context()); return err },
		"left":     func(c *Coupons) error { _, err := c.Left(t.Context(), []int64{1, 500, 4990}); return err },
		"held":     func(c *Coupons) error { _, err := c.Held(t.Context(), "owner7"); return err },
	} {
		queries[name] = recorded(t, db, func(db *DB) error { return do(NewCoupons(db)) })
		if len(queries[name]) != 1 {
			t.Errorf("%s costs %d statements", name, len(queries[name]))
		}
	}
	return queries
}

func TestCouponQueriesReadAnIndexOnMySQL(t *testing.T) {
	db := openTest(t, Config{DSN: testdb.MySQL(t)})
	couponYears(t, db)
	for name, statements := range couponQueries(t, db) {
		indexed(t, db, name, statements)
		for _, row := range explain(t, db, statements[0]) {
			// The excluded products are wanted whole; nothing else is.
			if row.access == "index" && (name != "excluded" || row.table != "p") {
				t.Errorf("%s reads the whole index: %+v", name, row)
			}
		}
	}
}

func TestCouponQueriesReadAnIndexOnSQLite(t *testing.T) {
	db := openTest(t, Config{Path: t.TempDir() + "/db"})
	couponYears(t, db)
	for name, statements := range couponQueries(t, db) {
		rows, err := db.pool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+strings.ReplaceAll(statements[0], `"`, "'")) // gorm records texts as SQLite writes names
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		steps := 0
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			steps++
			whole := strings.HasPrefix(detail, "SCAN") && (name != "excluded" || !strings.HasPrefix(detail, "SCAN p"))
			if whole || strings.Contains(detail, "TEMP B-TREE") || strings.Contains(detail, "AUTOMATIC") {
				t.Errorf("%s: %s\n%s", name, detail, statements[0])
			}
		}
		if err := rows.Err(); err != nil || steps == 0 {
			t.Errorf("%s: %d steps, %v", name, steps, err)
		}
	}
}
