package ingest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"rowmill/reservation"
)

// dice gives a row's made-up choices. They hang on the key and the row's number
// alone, so row n is the same however many rows there are. Only PCG's own output is
// used, whose sequence is fixed by its definition.
type dice struct{ pcg rand.PCG }

func newDice(key uint64, row int64) *dice {
	d := new(dice)
	d.pcg.Seed(key, uint64(row))
	return d
}

// below gives a number from 0 to n-1; the bias of the remainder is under 2⁻⁴⁰.
func (d *dice) below(n int) int { return int(d.pcg.Uint64() % uint64(n)) }

// oneIn reports whether the one case in n fell.
func (d *dice) oneIn(n int) bool { return d.below(n) == 0 }

func pick[T any](d *dice, from []T) T { return from[d.below(len(from))] }

// makeUp adds to r all that no source says: who the guest is, when and whether
// it was paid, why it fell through, a coupon, a memo and the time of the last change.
func makeUp(d *dice, r *reservation.Reservation) {
	makeUpGuest(d, r)
	makeUpPayment(d, r)
	if r.Status != reservation.CheckedOut {
		reason := "No-show"
		if r.Status == reservation.Canceled {
			reason = pick(d, reasons)
		}
		r.Cancellation = &reservation.Cancellation{CanceledOn: r.StatusDate, Reason: reason}
	}
	if r.Payment.AmountMinor > 0 && d.oneIn(8) {
		r.CouponUse = &reservation.CouponUse{
			Code:          fmt.Sprintf("%06d", d.below(1_000_000)),
			DiscountMinor: min(pick(d, discounts), r.Payment.AmountMinor),
			UsedOn:        r.BookedOn,
		}
	}
	r.Memo = memo(d)
	r.UpdatedAt = timeOfDay(d, r.StatusDate)
	if p := r.Payment.PaidAt; p != nil && p.After(r.UpdatedAt) {
		r.UpdatedAt = *p
	}
}

var (
	reasons   = []string{"Change of plans", "Illness", "Flight canceled", "Found another room", "Visa refused", "Booked twice", "일정 변경", "予定変更"}
	discounts = []int64{5_00, 10_00, 15_00, 20_00, 33_33} // in hundredths
)

// timeOfDay gives an instant on d's UTC day, to the second. It may be another
// day elsewhere, which is what a report's time zone must get right.
func timeOfDay(d *dice, on time.Time) time.Time {
	return on.Add(time.Duration(d.below(24*60*60)) * time.Second)
}

// makeUpPayment: what cannot be refunded is paid when booked, a stay that took
// place when it ends, and nothing else is paid.
func makeUpPayment(d *dice, r *reservation.Reservation) {
	var paidOn time.Time
	switch {
	case r.Payment.Terms == "Non Refund":
		paidOn = r.BookedOn
	case r.Status == reservation.CheckedOut:
		paidOn = r.CheckOut
	default:
		r.Payment.Status = "open"
		return
	}
	at := timeOfDay(d, paidOn)
	r.Payment.Status, r.Payment.PaidAt = "paid", &at
}

// makeUpGuest: the second block of each phone number begins with a digit that
// mobile numbers of the country do not have there, so that nobody is called.
func makeUpGuest(d *dice, r *reservation.Reservation) {
	var family, given spelling
	var name, phone string
	switch d.below(3) {
	case 0:
		family, given = pick(d, koreanFamilies), pick(d, koreanGiven)
		name = family.script + given.script
		phone = fmt.Sprintf("010-%04d-%04d", d.below(2000), d.below(10_000))
	case 1:
		family, given = pick(d, japaneseFamilies), pick(d, japaneseGiven)
		name = family.script + " " + given.script
		phone = fmt.Sprintf("090-%04d-%04d", d.below(1000), d.below(10_000))
	default:
		family, given = pick(d, latinFamilies), pick(d, latinGiven)
		name = given.script + " " + family.script
		phone = fmt.Sprintf("+351 9%02d %03d %03d", 40+d.below(20), d.below(1000), d.below(1000))
	}
	r.Guest.Name, r.Guest.Phone = name, phone
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%s.%d@example.", given.latin, family.latin, r.ID)
	b.WriteString(pick(d, []string{"com", "org"}))
	r.Guest.Email = b.String()
}
