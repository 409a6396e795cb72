package coupon

import (
	"context"
	"slices"
	"time"

	"rowmill/access"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// Columns are a store's reservations with the two fields that coupons fill:
// best_coupon and coupon_price. They say what the rules of the moment make of the
// payment's amount, for everybody (nobody holds anything), and are NULL where there is
// no payment or no rule makes it cheaper. A page that has one of them costs one
// statement more, for the rules, and one for the payments if nothing else asks them;
// and what Service says. Pages without them cost nothing more.
type Columns struct {
	reservation.Store
	prices *Service
	now    func() time.Time
}

// NewColumns returns the store with its coupon fields.
func NewColumns(store reservation.Store, prices *Service) *Columns {
	return &Columns{Store: store, prices: prices, now: time.Now}
}

// Batch implements reservation.Store.
func (c *Columns) Batch(ctx context.Context, scope access.Scope, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
	f := fillOf(fields)
	b, err := c.Store.Batch(ctx, scope, ids, f.fields)
	if err == nil {
		err = c.fill(ctx, f, b.Rows)
	}
	if err != nil {
		return reservation.Batch{}, err
	}
	return b, nil
}

// List implements reservation.Store.
func (c *Columns) List(ctx context.Context, q reservation.Query, w reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error) {
	f := fillOf(fields)
	list, err := c.Store.List(ctx, q, w, f.fields, withTotal)
	if err == nil {
		err = c.fill(ctx, f, list.Rows)
	}
	if err != nil {
		return reservation.List{}, err
	}
	return list, nil
}

// needed are the fields that a coupon price is made of.
var needed = [...]string{"product_id", "amount", "currency"}

// fill says where in a row the coupon fields go and what they are made of is found.
type fill struct {
	fields      []reservation.Field // those asked, and behind them those needed
	asked       int
	code, price int // places; -1 if not asked
	from        [len(needed)]int
}

func fillOf(fields []reservation.Field) fill {
	place := func(in []reservation.Field, key string) int {
		return slices.IndexFunc(in, func(f reservation.Field) bool { return f.Key == key })
	}
	f := fill{fields: fields, asked: len(fields), code: place(fields, reservation.BestCoupon), price: place(fields, reservation.CouponPrice)}
	if f.code < 0 && f.price < 0 {
		return f
	}
	f.fields = slices.Clone(fields)
	for i, key := range needed {
		if f.from[i] = place(f.fields, key); f.from[i] < 0 {
			field, _ := reservation.FieldOf(key)
			f.from[i] = len(f.fields)
			f.fields = append(f.fields, field)
		}
	}
	return f
}

// item gives what a row is to be priced as; false if it has no price.
func (f fill) item(row table.Row) (Item, bool) {
	product, amount, currency := row.Values[f.from[0]], row.Values[f.from[1]], row.Values[f.from[2]]
	hundredths, scale, small := amount.Decimal()
	if product.IsNull() || amount.IsNull() || !small || scale != hundredthsDecimals {
		return Item{}, false
	}
	minor, ok := ofHundredths(hundredths, currency.Text())
	return Item{Product: product.Integer(), Minor: minor, Currency: currency.Text()}, ok
}

// fill fills the coupon fields of the rows and takes away what was not asked.
func (c *Columns) fill(ctx context.Context, f fill, rows []table.Row) error {
	if f.code < 0 && f.price < 0 {
		return nil
	}
	var items []Item
	var at []int
	for i, row := range rows {
		if item, ok := f.item(row); ok {
			items, at = append(items, item), append(at, i)
		}
	}
	offers, err := c.prices.Now(ctx, c.now(), items)
	if err != nil {
		return err
	}
	for i, o := range offers {
		if o.Best == nil {
			continue
		}
		values := rows[at[i]].Values
		if f.code >= 0 {
			values[f.code] = table.TextOf(o.Best.Code)
		}
		if f.price >= 0 {
			values[f.price] = table.DecimalOf(hundredthsOf(o.Best.Minor, o.Currency), hundredthsDecimals)
		}
	}
	for i := range rows {
		rows[i].Values = rows[i].Values[:f.asked:f.asked]
	}
	return nil
}
