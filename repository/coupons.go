package repository

import (
	"context"
	"database/sql"
	"time"

	"rowmill/coupon"
)

// Coupons are the coupon rules and the facts that they hang on. It implements
// coupon.Store. Each change gives the kinds of facts that it touches another version,
// in one transaction with it; each reading of facts reads their version in the same
// statement.
type Coupons struct{ db *DB }

var _ coupon.Store = (*Coupons)(nil)

// NewCoupons gives the coupons of the database.
func NewCoupons(db *DB) *Coupons { return &Coupons{db: db} }

// Names of the kinds of facts in coupon_versions.
const (
	factsExcluded = "excluded"
	factsStock    = "stock"
	factsHeld     = "held:" // and the owner
)

const rulesQuery = "SELECT r.id, r.code, r.kind, r.value, r.cap_minor, r.minimum_minor, r.currency, r.valid_from, r.valid_until, r.stock, r.held_only," +
	" e.version, s.version, h.version FROM coupon_rules r" +
	" LEFT JOIN coupon_versions e ON e.name = '" + factsExcluded + "'" +
	" LEFT JOIN coupon_versions s ON s.name = '" + factsStock + "'" +
	" LEFT JOIN coupon_versions h ON h.name = ?" +
	" WHERE r.valid_until > ? AND r.valid_from <= ? LIMIT ?"

// Rules implements coupon.Store.
func (c *Coupons) Rules(ctx context.Context, after, before time.Time, owner string) (book coupon.Book, err error) {
	var excluded, stock, held sql.NullString
	err = c.read(ctx, "read the coupon rules", rulesQuery, []any{factsHeld + owner, moment{after}, moment{before}, coupon.MaxRules + 1}, func(rows *sql.Rows) error {
		var r coupon.Rule
		var from, until moment
		err := rows.Scan(&r.ID, &r.Code, &r.Kind, &r.Value, &r.Cap, &r.Minimum, &r.Currency, &from, &until, &r.Stock, &r.HeldOnly, &excluded, &stock, &held)
		r.From, r.Until = from.Time, until.Time
		book.Rules = append(book.Rules, r)
		return err
	})
	book.Versions = coupon.Versions{Excluded: excluded.String, Left: stock.String, Held: held.String}
	return book, err
}

// Excluded implements coupon.Store.
func (c *Coupons) Excluded(ctx context.Context) (facts coupon.ExcludedFacts, err error) {
	const query = "SELECT v.version, p.product_id FROM coupon_versions v LEFT JOIN coupon_excluded_products p ON 1 = 1 WHERE v.name = ?"
	err = c.read(ctx, "read the products without coupons", query, []any{factsExcluded}, func(rows *sql.Rows) error {
		var product key
		err := rows.Scan(&facts.Version, &product)
		if product.valid {
			facts.Products = append(facts.Products, product.id)
		}
		return err
	})
	return facts, err
}

// Left implements coupon.Store.
func (c *Coupons) Left(ctx context.Context, rules []int64) (facts coupon.LeftFacts, err error) {
	facts.Left = make(map[int64]int64, len(rules))
	if len(rules) == 0 {
		return facts, nil
	}
	query := "SELECT v.version, r.id, r.stock - r.used FROM coupon_versions v JOIN coupon_rules r WHERE v.name = ? AND " + string(appendIn(nil, "r.id", rules))
	err = c.read(ctx, "read what is left of coupons", query, []any{factsStock}, func(rows *sql.Rows) error {
		var rule, left int64
		err := rows.Scan(&facts.Version, &rule, &left)
		facts.Left[rule] = left
		return err
	})
	return facts, err
}

// Held implements coupon.Store.
func (c *Coupons) Held(ctx context.Context, owner string) (facts coupon.HeldFacts, err error) {
	const query = "SELECT v.version, h.product_id, h.rule_id FROM coupon_versions v LEFT JOIN coupon_holders h ON h.owner = ? WHERE v.name = ?"
	facts.Owner, facts.Held = owner, map[int64][]int64{}
	err = c.read(ctx, "read who holds coupons", query, []any{owner, factsHeld + owner}, func(rows *sql.Rows) error {
		var product, rule key
		err := rows.Scan(&facts.Version, &product, &rule)
		if product.valid && rule.valid {
			facts.Held[product.id] = append(facts.Held[product.id], rule.id)
		}
		return err
	})
	return facts, err
}

// read sends a query and gives each of its rows to scan.
func (c *Coupons) read(ctx context.Context, doing, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := c.db.rows(ctx, query, args...)
	if err != nil {
		return mapError(ctx, doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return mapError(ctx, doing, err)
		}
	}
	return mapError(ctx, doing, rows.Err())
}
