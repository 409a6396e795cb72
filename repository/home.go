package repository

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"

	"rowmill/home"
	"rowmill/internal/fault"
)

// Home is the tables of the home board.
type Home struct{ db *DB }

var (
	_ home.Store  = (*Home)(nil)
	_ home.Editor = (*Home)(nil)
)

// NewHome gives the home board of the database.
func NewHome(db *DB) *Home { return &Home{db: db} }

// by names the index that MySQL is to use: for tables as small as these it would
// rather read them whole and sort them, and go on so when they have grown.
func (h *Home) by(index string) string {
	if h.db.sqlite {
		return ""
	}
	return " FORCE INDEX (" + index + ")"
}

const sectionColumns = "SELECT id, kind, title, position, visible_from, visible_until FROM home_sections"

// Sections implements home.Store.
func (h *Home) Sections(ctx context.Context) (sections []home.Section, err error) {
	query := sectionColumns + h.by("home_sections_by_position") + " ORDER BY position, id"
	err = h.each(ctx, "read the home board's sections", query, nil, func(rows *sql.Rows) error {
		s, err := scanSection(rows)
		sections = append(sections, s)
		return err
	})
	return sections, err
}

func scanSection(rows *sql.Rows) (s home.Section, err error) {
	var from, until moment
	err = rows.Scan(&s.ID, &s.Kind, &s.Title, &s.Position, &from, &until)
	s.From, s.Until = from.Time, until.Time
	return s, err
}

// Items implements home.Store.
func (h *Home) Items(ctx context.Context, sections []int64) (map[int64][]int64, error) {
	items := make(map[int64][]int64, len(sections))
	if len(sections) == 0 {
		return items, nil
	}
	query := whereIn("SELECT section_id, product_id FROM home_section_items"+h.by("PRIMARY")+" WHERE ", "section_id", sections) +
		" ORDER BY section_id, position"
	err := h.each(ctx, "read the home board's items", query, nil, func(rows *sql.Rows) error {
		var section, product int64
		err := rows.Scan(&section, &product)
		items[section] = append(items[section], product)
		return err
	})
	return items, err
}

// whereIn adds to a statement that the column has one of the ids.
func whereIn(statement, column string, ids []int64) string {
	return string(appendIn(append(make([]byte, 0, len(statement)+len(ids)*12), statement...), column, ids))
}

// Products implements home.Store.
func (h *Home) Products(ctx context.Context, ids []int64) (map[int64]string, error) {
	names := make(map[int64]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	query := whereIn("SELECT id, name FROM products"+h.by("PRIMARY")+" WHERE ", "id", ids)
	err := h.each(ctx, "read the home board's products", query, nil, func(rows *sql.Rows) error {
		var id int64
		var name string
		err := rows.Scan(&id, &name)
		names[id] = name
		return err
	})
	return names, err
}

// Available implements home.Store. Units come first, by product, as the sums are
// then made in the order in which they are read; STRAIGHT_JOIN and CROSS JOIN keep
// MySQL and SQLite from turning that round.
func (h *Home) Available(ctx context.Context, day time.Time, products []int64) (map[int64]int64, error) {
	available := make(map[int64]int64, len(products))
	if len(products) == 0 {
		return available, nil
	}
	join := " CROSS JOIN "
	if !h.db.sqlite {
		join = " STRAIGHT_JOIN "
	}
	query := whereIn("SELECT u.product_id, SUM(i.available) FROM product_units u"+h.by("product_units_by_product_id")+join+
		"inventories i"+h.by("PRIMARY")+" ON i.day = ? AND i.product_unit_id = u.id WHERE ", "u.product_id", products) +
		" GROUP BY u.product_id"
	err := h.each(ctx, "read what is free", query, []any{onDay(day)}, func(rows *sql.Rows) error {
		var product, units int64
		err := rows.Scan(&product, &units)
		available[product] = units
		return err
	})
	return available, err
}

// each gives the rows of a query one after the other.
func (h *Home) each(ctx context.Context, doing, query string, args []any, row func(*sql.Rows) error) error {
	rows, err := h.db.rows(ctx, query, args...)
	if err != nil {
		return mapError(ctx, doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return mapError(ctx, doing, err)
		}
	}
	return mapError(ctx, doing, rows.Err())
}

// Section implements home.Editor.
func (h *Home) Section(ctx context.Context, id int64) (home.Section, error) {
	var found []home.Section
	err := h.each(ctx, "read a section", sectionColumns+" WHERE id = ?", []any{id}, func(rows *sql.Rows) error {
		s, err := scanSection(rows)
		found = append(found, s)
		return err
	})
	if err != nil {
		return home.Section{}, err
	}
	if len(found) == 0 {
		return home.Section{}, noSection(id)
	}
	items, err := h.Items(ctx, []int64{id})
	found[0].ProductIDs = items[id]
	return found[0], err
}

func noSection(id int64) error {
	return fault.New(fault.NotFound, "The home board has no section %d.", id)
}

// Put implements home.Editor: all of it is stored, or nothing. Changes take turns,
// those of several sections too: each inserts into an index that others delete from,
// which would make them deadlock.
func (h *Home) Put(ctx context.Context, s home.Section) error {
	err := h.db.gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := h.takeTurn(tx); err != nil {
			return err
		}
		updated := tx.Exec("UPDATE home_sections SET title = ?, position = ?, visible_from = ?, visible_until = ? WHERE id = ?",
			s.Title, s.Position, moment{s.From}, moment{s.Until}, s.ID)
		if updated.Error != nil {
			return updated.Error
		}
		if updated.RowsAffected == 0 {
			return noSection(s.ID)
		}
		if err := tx.Exec("DELETE FROM home_section_items WHERE section_id = ?", s.ID).Error; err != nil {
			return err
		}
		return insertItems(tx, s)
	})
	return mapError(ctx, "store a section", err)
}

// takeTurn waits for other changes by the lock of the first section; SQLite has one
// writer at a time anyhow.
func (h *Home) takeTurn(tx *gorm.DB) error {
	if h.db.sqlite {
		return nil
	}
	return tx.Exec("SELECT id FROM home_sections" + h.by("PRIMARY") + " ORDER BY id LIMIT 1 FOR UPDATE").Error
}

func insertItems(tx *gorm.DB, s home.Section) error {
	if len(s.ProductIDs) == 0 {
		return nil
	}
	rows := make([]map[string]any, len(s.ProductIDs))
	for i, id := range s.ProductIDs {
		rows[i] = map[string]any{"section_id": s.ID, "position": i + 1, "product_id": id}
	}
	return tx.Table("home_section_items").Create(rows).Error
}
