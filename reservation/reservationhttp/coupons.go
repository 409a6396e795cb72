package reservationhttp

import (
	"context"
	"fmt"
	"time"

	"github.com/go-faster/jx"
	"github.com/labstack/echo/v4"

	"rowmill/coupon"
	"rowmill/internal/fault"
)

// Coupons answers what coupons make of prices.
type Coupons interface {
	Prices(ctx context.Context, user string, at time.Time, items []coupon.Item) ([]coupon.Offer, error)
}

// pathCoupons asks for the best prices of products.
const pathCoupons = "/internal/v1/coupon-prices"

// couponRequest is a question for prices, as it travels.
type couponRequest struct {
	user, at string
	products []couponProduct
}

type couponProduct struct {
	id              int64
	price, currency string
}

func (r *couponRequest) members() members {
	return members{
		"user": {"a text", textInto(&r.user)},
		"at":   {"a text", textInto(&r.at)},
		"products": {fmt.Sprintf("a list of at most %d objects of id, price and currency, price and currency being texts", coupon.MaxProducts), func(d *jx.Decoder) error {
			return d.Arr(func(d *jx.Decoder) error {
				if len(r.products) == coupon.MaxProducts {
					return fmt.Errorf("more than %d products", coupon.MaxProducts)
				}
				var p couponProduct
				err := p.read(d)
				r.products = append(r.products, p)
				return err
			})
		}},
	}
}

func (p *couponProduct) read(d *jx.Decoder) error {
	return d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
		switch string(key) {
		case "id":
			p.id, err = d.Int64()
		case "price":
			p.price, err = d.Str()
		case "currency":
			p.currency, err = d.Str()
		default:
			err = fmt.Errorf("there is no member %q", shown(string(key)))
		}
		return err
	})
}

// maxWrong is the most members that a refusal names: one alone may have 500 products.
const maxWrong = 20

// asked reads the question, or names what is wrong with it.
func (r *couponRequest) asked(now time.Time) (at time.Time, items []coupon.Item, err error) {
	var wrong []fault.Field
	fail := func(name, detail string) {
		if len(wrong) < maxWrong {
			wrong = append(wrong, fault.Field{Name: name, Detail: detail})
		}
	}
	if detail := coupon.CheckUser(r.user); detail != "" {
		fail("user", detail)
	}
	if at = now; r.at != "" {
		if at, err = time.Parse(time.RFC3339, r.at); err != nil || at.UTC().Year() < firstYear || at.UTC().Year() > lastYear {
			fail("at", fmt.Sprintf("is not a time as 2006-01-02T15:04:05Z in the years %d to %d", firstYear, lastYear))
		}
	}
	if len(r.products) == 0 {
		fail("products", "name at least one product")
	}
	seen := make(map[int64]bool, len(r.products))
	for i, p := range r.products {
		item, member, detail := p.item()
		if detail == "" && seen[item.Product] {
			member, detail = "id", fmt.Sprintf("product %d is asked twice", item.Product)
		}
		if detail != "" {
			fail(fmt.Sprintf("products[%d].%s", i, member), detail)
		}
		seen[item.Product] = true
		items = append(items, item)
	}
	if len(wrong) > 0 {
		return at, nil, fault.InvalidFields("The request is not valid.", wrong...)
	}
	return at, items, nil
}

// firstYear and lastYear leave room around a time for both engines' years.
const firstYear, lastYear = 1900, 9000

// item reads a product, or says which member is wrong with it and how.
func (p couponProduct) item() (item coupon.Item, member, detail string) {
	switch {
	case p.id < 1:
		return item, "id", "is missing or below 1"
	case !coupon.Known(p.currency):
		return coupon.Item{Product: p.id}, "currency", fmt.Sprintf("%q is not one of those that are known: an ISO 4217 code like EUR", shown(p.currency))
	}
	minor, detail := coupon.ParseMinor(p.price, p.currency)
	return coupon.Item{Product: p.id, Minor: minor, Currency: p.currency}, "price", detail
}

// couponPrices gives the best price of each product.
func (s *server) couponPrices(c echo.Context) error {
	var r couponRequest
	if err := bind(c, r.members()); err != nil {
		return err
	}
	at, items, err := r.asked(time.Now())
	if err != nil {
		return err
	}
	offers, err := s.coupons.Prices(c.Request().Context(), r.user, at, items)
	if err != nil {
		return err
	}
	c.Response().Header().Set(headerTiming, statementsHeader(statementsOf(c)))
	a := s.begin(c)
	defer a.free()
	a.RawStr(`{"prices":[`)
	for i, o := range offers {
		if i > 0 {
			a.Comma()
		}
		a.offer(o)
		if err := a.piece(); err != nil {
			return err
		}
	}
	a.RawStr(`]}`)
	return a.finish()
}

func (a *answer) offer(o coupon.Offer) {
	a.ObjStart()
	a.FieldStart("product_id")
	a.Int64(o.Product)
	a.money("price", o.Minor, o.Currency)
	a.Comma()
	a.FieldStart("best")
	if b := o.Best; b == nil {
		a.Null()
	} else {
		a.ObjStart()
		a.FieldStart("rule")
		a.Int64(b.Rule)
		a.Comma()
		a.FieldStart("code")
		a.Str(b.Code)
		a.money("price", b.Minor, o.Currency)
		a.money("discount", b.Discount, o.Currency)
		a.ObjEnd()
	}
	a.Comma()
	a.FieldStart("refused")
	appendList(a.Writer, o.Refused, func(r coupon.Refusal) bool {
		a.ObjStart()
		a.FieldStart("rule")
		a.Int64(r.Rule)
		a.Comma()
		a.FieldStart("reason")
		a.Str(string(r.Reason))
		return a.ObjEnd()
	})
	a.ObjEnd()
}

// money writes a member that follows another.
func (a *answer) money(name string, minor int64, currency string) {
	a.Comma()
	a.FieldStart(name)
	a.RawStr(`"`)
	a.Buf = coupon.AppendMinor(a.Buf, minor, currency)
	a.RawStr(`"`)
}
