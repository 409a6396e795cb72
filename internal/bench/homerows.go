package bench

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rowmill/home"
	"rowmill/reservation"
)

// homeTables reads whole rows of the home board's tables, as an object mapper does.
type homeTables struct{ db *sql.DB }

type productUnit struct {
	ID, ProductID int64
	Name          string
}

type inventory struct {
	Day       time.Time
	UnitID    int64
	Available int64
}

// stockRow is a row of products with those of its units and their inventories; what a
// product lacks is not Valid.
type stockRow struct {
	Product   reservation.Product
	Unit      sql.Null[int64]
	Inventory sql.Null[inventory]
}

// each reads the rows of a query one after the other.
func (t homeTables) each(ctx context.Context, query string, row func(*sql.Rows) error) error {
	rows, err := t.db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("read the home board: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return fmt.Errorf("read the home board: %w", err)
		}
	}
	return rows.Err()
}

// in lists ids, of which there is at least one.
func in(ids []int64) string {
	var b strings.Builder
	b.WriteString(" IN (")
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(id, 10))
	}
	b.WriteByte(')')
	return b.String()
}

// visible gives the sections to be seen at the moment, in their order.
func (t homeTables) visible(ctx context.Context, moment time.Time) (sections []home.Section, err error) {
	const query = "SELECT id, kind, title, position, visible_from, visible_until FROM home_sections ORDER BY position, id"
	err = t.each(ctx, query, func(rows *sql.Rows) error {
		var s home.Section
		var from, until sql.NullTime
		if err := rows.Scan(&s.ID, &s.Kind, &s.Title, &s.Position, &from, &until); err != nil {
			return err
		}
		if from.Valid && moment.Before(from.Time) || until.Valid && !moment.Before(until.Time) {
			return nil
		}
		s.From, s.Until = from.Time, until.Time
		sections = append(sections, s)
		return nil
	})
	return sections, err
}

// items gives the products of sections in their order.
func (t homeTables) items(ctx context.Context, sections []int64) (map[int64][]int64, error) {
	products := map[int64][]int64{}
	query := "SELECT section_id, position, product_id FROM home_section_items WHERE section_id" + in(sections) + " ORDER BY section_id, position"
	err := t.each(ctx, query, func(rows *sql.Rows) error {
		var section, position, product int64
		err := rows.Scan(&section, &position, &product)
		products[section] = append(products[section], product)
		return err
	})
	return products, err
}

// stock gives all rows of the products, of their units and of these on every day.
func (t homeTables) stock(ctx context.Context, products []int64) (stock []stockRow, err error) {
	query := "SELECT p.id, p.property_id, p.name, u.id, u.product_id, u.name, i.day, i.product_unit_id, i.available FROM products p" +
		" LEFT JOIN product_units u ON u.product_id = p.id LEFT JOIN inventories i ON i.product_unit_id = u.id WHERE p.id" + in(products)
	err = t.each(ctx, query, func(rows *sql.Rows) error {
		var r stockRow
		var of, unit, available sql.NullInt64
		var name sql.NullString
		var day sql.NullTime
		if err := rows.Scan(&r.Product.ID, &r.Product.PropertyID, &r.Product.Name, &r.Unit, &of, &name, &day, &unit, &available); err != nil {
			return err
		}
		if day.Valid {
			r.Inventory = sql.Null[inventory]{V: inventory{Day: day.Time, UnitID: unit.Int64, Available: available.Int64}, Valid: true}
		}
		stock = append(stock, r)
		return nil
	})
	return stock, err
}

func (t homeTables) products(ctx context.Context, ids []int64) (map[int64]reservation.Product, error) {
	products := map[int64]reservation.Product{}
	err := t.each(ctx, "SELECT id, property_id, name FROM products WHERE id"+in(ids), func(rows *sql.Rows) error {
		var p reservation.Product
		err := rows.Scan(&p.ID, &p.PropertyID, &p.Name)
		products[p.ID] = p
		return err
	})
	return products, err
}

// units gives the units of each product.
func (t homeTables) units(ctx context.Context, products []int64) (map[int64][]productUnit, error) {
	units := map[int64][]productUnit{}
	err := t.each(ctx, "SELECT id, product_id, name FROM product_units WHERE product_id"+in(products), func(rows *sql.Rows) error {
		var u productUnit
		err := rows.Scan(&u.ID, &u.ProductID, &u.Name)
		units[u.ProductID] = append(units[u.ProductID], u)
		return err
	})
	return units, err
}

// inventories gives those of each unit, of every day.
func (t homeTables) inventories(ctx context.Context, units []int64) (map[int64][]inventory, error) {
	inventories := map[int64][]inventory{}
	err := t.each(ctx, "SELECT day, product_unit_id, available FROM inventories WHERE product_unit_id"+in(units), func(rows *sql.Rows) error {
		var i inventory
		err := rows.Scan(&i.Day, &i.UnitID, &i.Available)
		inventories[i.UnitID] = append(inventories[i.UnitID], i)
		return err
	})
	return inventories, err
}
