package repository

import (
	"context"
	"crypto/rand"
	"database/sql"
	"time"

	"rowmill/coupon"
	"rowmill/internal/fault"
)

// Put stores the set's rules, each in the place of the one with its id, whose uses stay
// counted, and adds its other facts to those that there are: all or nothing. A rule that
// is not valid is fault.Invalid.
func (c *Coupons) Put(ctx context.Context, set coupon.Set) error {
	return c.change(ctx, "store coupons", func(tx *sql.Tx) error { return c.db.putCoupons(ctx, tx, set) })
}

// Withdraw removes the set's rules, by their ids, and its other facts.
func (c *Coupons) Withdraw(ctx context.Context, set coupon.Set) error {
	return c.change(ctx, "withdraw coupons", func(tx *sql.Tx) error {
		w := couponWrite{ctx: ctx, tx: tx}
		for _, r := range set.Rules {
			w.exec("DELETE FROM coupon_rules WHERE id = ?", r.ID)
		}
		w.removeFacts(set)
		w.renew(c.db.sqlite, kindsOf(set))
		return w.err
	})
}

// Take takes one use of the rule, first come: it succeeds as often as the rule has a
// stock, whoever asks at once. A rule that has none left, or is not in its window at
// the time, is a fault.Conflict. What prices say of the stock is as of their question;
// only Take decides.
func (c *Coupons) Take(ctx context.Context, rule int64, at time.Time) error {
	return c.change(ctx, "take a coupon", func(tx *sql.Tx) error {
		w := couponWrite{ctx: ctx, tx: tx}
		taken := w.exec("UPDATE coupon_rules SET used = used + 1 WHERE id = ? AND valid_from <= ? AND valid_until > ? AND (stock = 0 OR used < stock)",
			rule, moment{at}, moment{at})
		if w.err == nil && taken == 0 {
			return fault.New(fault.Conflict, "The coupon is not to be had: none is left, or it is not its time.")
		}
		w.renew(c.db.sqlite, []string{factsStock})
		return w.err
	})
}

func (c *Coupons) change(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	tx, err := c.db.pool.BeginTx(ctx, nil)
	if err != nil {
		return mapError(ctx, doing, err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := do(tx); err != nil {
		return mapError(ctx, doing, err)
	}
	return mapError(ctx, doing, tx.Commit())
}

// putCoupons stores the set within the transaction.
func (d *DB) putCoupons(ctx context.Context, tx *sql.Tx, set coupon.Set) error {
	w := couponWrite{ctx: ctx, tx: tx}
	for _, r := range set.Rules {
		if err := r.Check(); err != nil {
			return err
		}
		w.rule(r)
	}
	w.removeFacts(set)
	for _, product := range set.Excluded {
		w.exec("INSERT INTO coupon_excluded_products (product_id) VALUES (?)", product)
	}
	for _, h := range set.Holders {
		w.exec("INSERT INTO coupon_holders (owner, product_id, rule_id) VALUES (?, ?, ?)", h.Owner, h.Product, h.Rule)
	}
	w.renew(d.sqlite, kindsOf(set))
	return w.err
}

// kindsOf names the kinds of facts that a change of the set touches.
func kindsOf(set coupon.Set) (kinds []string) {
	if len(set.Excluded) > 0 {
		kinds = append(kinds, factsExcluded)
	}
	if len(set.Rules) > 0 {
		kinds = append(kinds, factsStock)
	}
	seen := map[string]bool{}
	for _, h := range set.Holders {
		if !seen[h.Owner] {
			kinds = append(kinds, factsHeld+h.Owner)
		}
		seen[h.Owner] = true
	}
	return kinds
}

// couponWrite sends statements of a transaction until the first error.
type couponWrite struct {
	ctx context.Context
	tx  *sql.Tx
	err error
}

// exec gives how many rows the statement matched.
func (w *couponWrite) exec(statement string, args ...any) (matched int64) {
	if w.err != nil {
		return 0
	}
	var result sql.Result
	if result, w.err = w.tx.ExecContext(w.ctx, statement, args...); w.err == nil {
		matched, w.err = result.RowsAffected()
	}
	return matched
}

func (w *couponWrite) rule(r coupon.Rule) {
	values := []any{r.Code, string(r.Kind), r.Value, r.Cap, r.Minimum, r.Currency, moment{r.From}, moment{r.Until}, r.Stock, flag(r.HeldOnly), r.ID}
	found := w.exec("UPDATE coupon_rules SET code = ?, kind = ?, value = ?, cap_minor = ?, minimum_minor = ?, currency = ?,"+
		" valid_from = ?, valid_until = ?, stock = ?, held_only = ? WHERE id = ?", values...)
	if found == 0 {
		w.exec("INSERT INTO coupon_rules (code, kind, value, cap_minor, minimum_minor, currency, valid_from, valid_until, stock, held_only, id, used)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", values...)
	}
}

func (w *couponWrite) removeFacts(set coupon.Set) {
	for _, product := range set.Excluded {
		w.exec("DELETE FROM coupon_excluded_products WHERE product_id = ?", product)
	}
	for _, h := range set.Holders {
		w.exec("DELETE FROM coupon_holders WHERE owner = ? AND product_id = ? AND rule_id = ?", h.Owner, h.Product, h.Rule)
	}
}

// renew gives the kinds another version. It is random, as a counter would come back
// with a database that is restored, and meet copies of the time in between.
func (w *couponWrite) renew(sqlite bool, kinds []string) {
	statement := "INSERT INTO coupon_versions (name, version) VALUES (?, ?) ON DUPLICATE KEY UPDATE version = VALUES(version)"
	if sqlite {
		statement = "INSERT INTO coupon_versions (name, version) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET version = excluded.version"
	}
	for _, kind := range kinds {
		w.exec(statement, kind, rand.Text())
	}
}
