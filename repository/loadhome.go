package repository

import (
	"context"
	"database/sql"

	"rowmill/ingest"
	"rowmill/internal/fault"
)

var (
	tableHomeSections     = loadTable{"home_sections", "id, kind, title, position, visible_from, visible_until"}
	tableHomeSectionItems = loadTable{"home_section_items", "section_id, position, product_id"}
	tableProductUnits     = loadTable{"product_units", "id, product_id, name"}
	tableInventories      = loadTable{"inventories", "day, product_unit_id, available"}
)

// LoadHome stores the home board, or nothing. The properties and products that it
// was made of must be those of the database. A database that has a board refuses
// with a fault.Conflict.
func (l *Loader) LoadHome(ctx context.Context, home ingest.Home) error {
	tx, err := l.db.pool.BeginTx(ctx, nil)
	if err != nil {
		return mapError(ctx, "load the home board", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err = fillHome(ctx, tx, home); err == nil {
		err = tx.Commit()
	}
	return mapError(ctx, "load the home board", err)
}

// homeRows are so few that one size of statement does for both engines.
const homeRows = 200

func fillHome(ctx context.Context, tx *sql.Tx, home ingest.Home) error {
	for _, t := range []loadTable{tableHomeSections, tableHomeSectionItems, tableProductUnits, tableInventories} {
		var found bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+t.name+")").Scan(&found); err != nil {
			return err
		}
		if found {
			return fault.New(fault.Conflict, "The database already has %s; nothing was changed.", t.name)
		}
	}
	into := func(t loadTable) *inserter { return newInserter(tx, inserts{rows: homeRows}, t) }
	products, sections, items := into(tableProducts), into(tableHomeSections), into(tableHomeSectionItems)
	units, inventories := into(tableProductUnits), into(tableInventories)
	for _, p := range home.Products {
		if err := products.add(ctx, p.ID, p.PropertyID, p.Name); err != nil {
			return err
		}
	}
	for _, s := range home.Sections {
		if err := addSection(ctx, sections, items, s); err != nil {
			return err
		}
	}
	for _, u := range home.Units {
		if err := units.add(ctx, u.ID, u.ProductID, u.Name); err != nil {
			return err
		}
	}
	for _, i := range home.Inventories {
		if err := inventories.add(ctx, onDay(i.Day), i.UnitID, i.Available); err != nil {
			return err
		}
	}
	for _, in := range []*inserter{products, sections, items, units, inventories} {
		if err := in.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

func addSection(ctx context.Context, sections, items *inserter, s ingest.HomeSection) error {
	var from, until any
	if s.From != nil {
		from = at(*s.From)
	}
	if s.Until != nil {
		until = at(*s.Until)
	}
	if err := sections.add(ctx, s.ID, s.Kind, s.Title, s.Position, from, until); err != nil {
		return err
	}
	for n, product := range s.ProductIDs {
		if err := items.add(ctx, s.ID, n+1, product); err != nil {
			return err
		}
	}
	return nil
}
