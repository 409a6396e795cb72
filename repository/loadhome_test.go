package repository

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/ingest"
	"rowmill/internal/fault"
)

func TestLoadHome(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		src := ingest.Synthetic(50, 1)
		if _, err := ingest.Run(t.Context(), NewLoader(db), src, nil); err != nil {
			t.Fatal(err)
		}
		first := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		home, err := ingest.HomeBoard(src.Lookups(), first, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := NewLoader(db).LoadHome(t.Context(), home); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]int64{
			"SELECT COUNT(*) FROM home_sections":                                                                                    37,
			"SELECT COUNT(DISTINCT kind) FROM home_sections":                                                                        5,
			"SELECT COUNT(*) FROM home_section_items":                                                                               232,
			"SELECT COUNT(DISTINCT section_id) FROM home_section_items":                                                             22,
			"SELECT COUNT(DISTINCT product_id) FROM home_section_items":                                                             79,
			"SELECT COUNT(*) FROM home_section_items WHERE product_id NOT IN (SELECT id FROM products)":                             0,
			"SELECT COUNT(*) FROM home_section_items WHERE section_id NOT IN (SELECT id FROM home_sections)":                        0,
			"SELECT COUNT(*) FROM products WHERE property_id NOT IN (SELECT id FROM properties)":                                    0,
			"SELECT COUNT(*) FROM products":                                                                                         79,
			"SELECT COUNT(DISTINCT product_id) FROM product_units":                                                                  79,
			"SELECT COUNT(DISTINCT day) FROM inventories":                                                                           60,
			"SELECT COUNT(*) FROM inventories WHERE product_unit_id NOT IN (SELECT id FROM product_units)":                          0,
			"SELECT COUNT(*) FROM (SELECT product_unit_id FROM inventories GROUP BY product_unit_id HAVING COUNT(*) <> 60) unequal": 0,
		} {
			if got := scalar(t, db, query); got != want {
				t.Errorf("%s gives %d, want %d", query, got, want)
			}
		}
		for _, s := range home.Sections {
			var got ingest.HomeSection
			var from, until moment
			row := db.pool.QueryRowContext(t.Context(), "SELECT id, kind, title, position, visible_from, visible_until FROM home_sections WHERE id = ?", s.ID)
			if err := row.Scan(&got.ID, &got.Kind, &got.Title, &got.Position, &from, &until); err != nil {
				t.Fatal(err)
			}
			got.From, got.Until, got.ProductIDs = orNil(from), orNil(until), s.ProductIDs
			if diff := cmp.Diff(s, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		if err := NewLoader(db).LoadHome(t.Context(), home); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a second board: %v", err)
		}
	})
}

func orNil(m moment) *time.Time {
	if m.IsZero() {
		return nil
	}
	return &m.Time
}

// A board that cannot be stored whole is not stored at all.
func TestLoadHomeStoresAllOrNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		src := ingest.Synthetic(5, 1)
		if _, err := ingest.Run(t.Context(), NewLoader(db), src, nil); err != nil {
			t.Fatal(err)
		}
		home, err := ingest.HomeBoard(src.Lookups(), time.Now(), 1)
		if err != nil {
			t.Fatal(err)
		}
		last := len(home.Inventories) - 1
		home.Inventories[last] = home.Inventories[0] // the same key twice
		if err := NewLoader(db).LoadHome(t.Context(), home); err == nil {
			t.Fatal("it was stored")
		}
		for _, table := range []string{"home_sections", "home_section_items", "product_units", "inventories"} {
			if got := scalar(t, db, "SELECT COUNT(*) FROM "+table); got != 0 {
				t.Errorf("%s has %d rows", table, got)
			}
		}
		if got := scalar(t, db, "SELECT COUNT(*) FROM products"); got != 40 {
			t.Errorf("%d products", got)
		}
	})
}
