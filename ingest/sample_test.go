package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"rowmill/ingest"
	"rowmill/reservation"
	"rowmill/sample"
)

// memory is a Store that keeps only what a check needs.
type memory struct {
	each func(reservation.Reservation)
	fail error
}

func (m memory) Load(_ context.Context, src *ingest.Source, _ func(int64)) error {
	for row, err := range src.Rows() {
		if err != nil {
			return err
		}
		m.each(row)
	}
	return m.fail
}

func TestSampleTotals(t *testing.T) {
	src := ingest.HotelBookings(sample.HotelBookings())
	next := int64(1)
	var nights, negative, unknownCountry, unknownChildren, noAgent, noCompany, canceled int
	got, err := ingest.Run(t.Context(), memory{each: func(r reservation.Reservation) {
		if r.ID != next || r.Code != fmt.Sprintf("%08d", next) {
			t.Fatalf("row %d has id %d and code %s", next, r.ID, r.Code)
		}
		next++
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&nights, r.Nights == 0)
		count(&negative, r.Payment.AmountMinor < 0)
		count(&unknownCountry, r.Guest.Country == nil)
		count(&unknownChildren, r.Guest.Children == nil)
		count(&noAgent, r.AgentID == nil)
		count(&noCompany, r.Company == nil)
		count(&canceled, r.Cancellation != nil)
	}}, src, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := ingest.Report{Rows: 119_390, AmountMinor: 42_723_497_53, Statuses: map[reservation.Status]int64{
		reservation.CheckedOut: 75_166, reservation.Canceled: 43_017, reservation.NoShow: 1_207,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("report (-want +got):\n" + diff)
	}
	counts := []int{nights, negative, unknownCountry, unknownChildren, noAgent, noCompany, canceled}
	if diff := cmp.Diff([]int{715, 1, 488, 4, 16_340, 112_593, 44_224}, counts); diff != "" {
		t.Error("zero nights, negative amounts, unknown countries and children, no agent, no company, cancellations (-want +got):\n" + diff)
	}
	l := src.Lookups()
	if diff := cmp.Diff([]int{2, 18, 26, 408}, []int{len(l.Properties), len(l.Products), len(l.Channels), len(l.Agents)}); diff != "" {
		t.Error("properties, products, channels, agents (-want +got):\n" + diff)
	}
}

func TestRunReportsNothingOfAFailedLoad(t *testing.T) {
	disk := errors.New("disk full")
	got, err := ingest.Run(t.Context(), memory{each: func(reservation.Reservation) {}, fail: disk}, ingest.Synthetic(3, 1), nil)
	if !errors.Is(err, disk) || got.Rows != 0 {
		t.Errorf("report %+v, error %v", got, err)
	}
}

func TestSampleTwiceIsTheSame(t *testing.T) {
	read := func() []reservation.Reservation {
		var rows []reservation.Reservation
		for r, err := range ingest.HotelBookings(sample.HotelBookings()).Rows() {
			if err != nil {
				t.Fatal(err)
			}
			if rows = append(rows, r); len(rows) == 500 {
				break
			}
		}
		return rows
	}
	if diff := cmp.Diff(read(), read()); diff != "" {
		t.Error(diff)
	}
}

func TestSyntheticHangsOnSeedAndRowAlone(t *testing.T) {
	few, err := collect(ingest.Synthetic(300, 7))
	if err != nil {
		t.Fatal(err)
	}
	many, err := collect(ingest.Synthetic(1000, 7))
	if err != nil {
		t.Fatal(err)
	}
	if len(few) != 300 || len(many) != 1000 {
		t.Fatalf("%d and %d rows, want 300 and 1000", len(few), len(many))
	}
	if diff := cmp.Diff(few, many[:300]); diff != "" {
		t.Error("the first rows of fewer and of more (-few +many):\n" + diff)
	}
	if diff := cmp.Diff(many[776], ingest.SyntheticRow(777, 7)); diff != "" {
		t.Error("row 777 in its stream and alone (-stream +alone):\n" + diff)
	}
	if got, err := ingest.Synthetic(1000, 7).Row(777); err != nil || !cmp.Equal(many[776], got) {
		t.Errorf("Row(777) = %+v, error %v", got, err)
	}
	for _, n := range []int64{0, 1001} {
		if _, err := ingest.Synthetic(1000, 7).Row(n); err == nil {
			t.Errorf("Row(%d) of 1000 rows gives no error", n)
		}
	}
	same := 0
	for n := int64(1); n <= 300; n++ {
		if cmp.Equal(ingest.SyntheticRow(n, 7), ingest.SyntheticRow(n, 8)) {
			same++
		}
	}
	if same != 0 {
		t.Errorf("%d of 300 rows are the same under another seed", same)
	}
	if rows, err := collect(ingest.Synthetic(-1, 7)); err != nil || len(rows) != 0 {
		t.Errorf("%d rows, error %v, want nothing of -1 rows", len(rows), err)
	}
}

func TestSyntheticNamesItsLookups(t *testing.T) {
	l := ingest.Synthetic(1, 1).Lookups()
	for i, p := range l.Products {
		if p.ID != int64(i)+1 {
			t.Fatalf("product %d has id %d", i+1, p.ID)
		}
	}
	for n := int64(1); n <= 5000; n++ {
		r := ingest.SyntheticRow(n, 3)
		if r.PropertyID < 1 || r.PropertyID > int64(len(l.Properties)) || r.ChannelID < 1 || r.ChannelID > int64(len(l.Channels)) {
			t.Fatalf("row %d: %+v", n, r)
		}
		if l.Products[r.ProductID-1].PropertyID != r.PropertyID {
			t.Fatalf("row %d is at property %d and in a room of %d", n, r.PropertyID, l.Products[r.ProductID-1].PropertyID)
		}
		if a := r.AgentID; a != nil && (l.Agents[*a-1].ID != *a || l.Agents[*a-1].PropertyID != r.PropertyID) {
			t.Fatalf("row %d is at property %d and by %+v", n, r.PropertyID, l.Agents[*a-1])
		}
		checkDays(t, r)
	}
}

func checkDays(t *testing.T, r reservation.Reservation) {
	t.Helper()
	if r.BookedOn.After(r.CheckIn) || r.StatusDate.Before(r.BookedOn) || r.CheckOut.Sub(r.CheckIn) != time.Duration(r.Nights)*24*time.Hour {
		t.Fatalf("row %d: booked %v, in %v, out %v, %d nights, status %v", r.ID, r.BookedOn, r.CheckIn, r.CheckOut, r.Nights, r.StatusDate)
	}
	if p := r.Payment; (p.PaidAt == nil) == (p.Status == "paid") || p.PaidAt != nil && p.PaidAt.After(r.UpdatedAt) || p.AmountMinor != p.RateMinor*r.Nights {
		t.Fatalf("row %d: payment %+v, updated %v", r.ID, p, r.UpdatedAt)
	}
	if (r.Cancellation == nil) != (r.Status == reservation.CheckedOut) {
		t.Fatalf("row %d: %s with cancellation %+v", r.ID, r.Status, r.Cancellation)
	}
	if c := r.CouponUse; c != nil && (c.DiscountMinor < 1 || c.DiscountMinor > r.Payment.AmountMinor) {
		t.Fatalf("row %d: coupon %+v on %+v", r.ID, c, r.Payment)
	}
}

// A made-up text is there to break what an export does wrong, so each kind must occur.
func TestMadeUpTexts(t *testing.T) {
	found := map[string]int{}
	note := func(kind string, is bool) {
		if is {
			found[kind]++
		}
	}
	for n := int64(1); n <= 20_000; n++ {
		r := ingest.SyntheticRow(n, 1)
		if _, domain, _ := strings.Cut(r.Guest.Email, "@"); domain != "example.com" && domain != "example.org" {
			t.Fatalf("row %d has the address %s", n, r.Guest.Email)
		}
		note("Korean phone", strings.HasPrefix(r.Guest.Phone, "010-"))
		note("Japanese phone", strings.HasPrefix(r.Guest.Phone, "090-"))
		note("Portuguese phone", strings.HasPrefix(r.Guest.Phone, "+351 9"))
		note("coupon", r.CouponUse != nil)
		note("coupon with a leading zero", r.CouponUse != nil && r.CouponUse.Code[0] == '0')
		note("no memo", r.Memo == nil)
		if r.Memo == nil {
			continue
		}
		m := *r.Memo
		if !utf8.ValidString(m) {
			t.Fatalf("row %d has a memo that is not UTF-8: %q", n, m)
		}
		note("empty memo", m == "")
		note("line break", strings.Contains(m, "\n"))
		note("CR LF", strings.Contains(m, "\r\n"))
		note("=", strings.HasPrefix(m, "="))
		note("+, - or @", m != "" && strings.ContainsRune("+-@", rune(m[0])))
		note("leading space", strings.HasPrefix(m, " "))
		note("emoji", strings.Contains(m, "🎉"))
		note("1,000 characters and more", utf8.RuneCountInString(m) >= 1000)
	}
	for _, kind := range []string{
		"Korean phone", "Japanese phone", "Portuguese phone", "coupon", "coupon with a leading zero", "no memo", "empty memo",
		"line break", "CR LF", "=", "+, - or @", "leading space", "emoji", "1,000 characters and more",
	} {
		if found[kind] == 0 {
			t.Errorf("no row has: %s", kind)
		}
	}
}
