package ingest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"rowmill/internal/fault"
	"rowmill/internal/table"
)

type column int

const (
	colHotel column = iota
	colIsCanceled
	colLeadTime
	colYear
	colMonth
	colWeek
	colDay
	colWeekendNights
	colWeekNights
	colAdults
	colChildren
	colBabies
	colMeal
	colCountry
	colSegment
	colDistribution
	colRepeated
	colEarlierCanceled
	colEarlierKept
	colReservedRoom
	colAssignedRoom
	colChanges
	colDeposit
	colAgent
	colCompany
	colWaitingDays
	colCustomerType
	colADR
	colParking
	colRequests
	colStatus
	colStatusDate
	columns
)

var columnNames = [columns]string{
	"hotel", "is_canceled", "lead_time", "arrival_date_year", "arrival_date_month", "arrival_date_week_number",
	"arrival_date_day_of_month", "stays_in_weekend_nights", "stays_in_week_nights", "adults", "children", "babies",
	"meal", "country", "market_segment", "distribution_channel", "is_repeated_guest", "previous_cancellations",
	"previous_bookings_not_canceled", "reserved_room_type", "assigned_room_type", "booking_changes", "deposit_type",
	"agent", "company", "days_in_waiting_list", "customer_type", "adr", "required_car_parking_spaces",
	"total_of_special_requests", "reservation_status", "reservation_status_date",
}

var columnOf = func() map[string]column {
	m := make(map[string]column, columns)
	for c, name := range columnNames {
		m[name] = column(c)
	}
	return m
}()

var monthOf = func() map[string]time.Month {
	m := make(map[string]time.Month, 12)
	for month := time.January; month <= time.December; month++ {
		m[month.String()] = month
	}
	return m
}()

const (
	// maxCount is far past any count of nights, days or guests, and keeps the
	// dates and amounts made of counts in range.
	maxCount = 30_000
	// firstYear and lastYear keep the dates made by adding counts within MySQL's 1000 to 9999.
	firstYear, lastYear = 1900, 9000
	// maxRate is ten billion a night: with maxCount nights it fits 64 bits.
	maxRate = 10_000_000_000_00
	// maxCode, maxCountry and maxText, in bytes, are what the database's columns hold,
	// and of a name what leaves room for the names made of it.
	maxCode, maxCountry, maxText = 32, 8, 64
)

// record is a line of the file. Its readers collect what is wrong in wrong and
// then give a zero value, so that one reading finds every bad field.
type record struct {
	places [columns]int
	fields []string
	line   int
	wrong  []fault.Field
}

func (r *record) raw(c column) string { return r.fields[r.places[c]] }

func (r *record) fail(c column, want string) {
	r.wrong = append(r.wrong, fault.Field{
		Name:   fmt.Sprintf("line %d", r.line),
		Detail: fmt.Sprintf("column %s: %.60q %s", columnNames[c], r.raw(c), want),
	})
}

// badLine notes a line that is no record of the file; it gives back an error
// that is not about the line.
func (r *record) badLine(err error, want, have int) error {
	var broken *csv.ParseError
	if !errors.As(err, &broken) {
		return err
	}
	detail := fmt.Sprintf("is not CSV: %v", broken.Err)
	r.line = broken.StartLine
	if errors.Is(err, csv.ErrFieldCount) {
		detail = fmt.Sprintf("has %d fields, not %d", have, want)
	}
	r.wrong = append(r.wrong, fault.Field{Name: fmt.Sprintf("line %d", r.line), Detail: detail})
	return nil
}

func missing(s string) bool { return s == "NULL" || s == "NA" }

func (r *record) text(c column, longest int) string {
	s := r.raw(c)
	switch {
	case s == "" || missing(s):
		r.fail(c, "is no text")
	case len(s) > longest:
		r.fail(c, fmt.Sprintf("is longer than %d bytes", longest))
	case !utf8.ValidString(s):
		r.fail(c, "is not UTF-8")
	}
	return s
}

func (r *record) optionalText(c column, longest int) *string {
	if missing(r.raw(c)) {
		return nil
	}
	s := r.text(c, longest)
	return &s
}

func (r *record) count(c column) int64 {
	s := r.raw(c)
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		r.fail(c, "is not a whole number from 0")
	case err != nil || n > maxCount:
		r.fail(c, fmt.Sprintf("is more than %d", maxCount))
		return 0
	}
	return int64(n)
}

func (r *record) optionalCount(c column) *int64 {
	if missing(r.raw(c)) {
		return nil
	}
	n := r.count(c)
	return &n
}

func (r *record) flag(c column) bool {
	s := r.raw(c)
	if s != "0" && s != "1" {
		r.fail(c, "is neither 0 nor 1")
	}
	return s == "1"
}

// cents reads an amount of at most two decimals, exactly.
func (r *record) cents(c column) int64 {
	v, ok := table.ParseDecimal(r.raw(c))
	if !ok {
		r.fail(c, "is not a number")
		return 0
	}
	n, scale, small := v.Decimal()
	if small && scale > 2 {
		r.fail(c, "has more than 2 decimals")
		return 0
	}
	for ; small && scale < 2; scale++ {
		n *= 10
		small = -maxRate < n && n < maxRate
	}
	if !small || n <= -maxRate || n >= maxRate {
		r.fail(c, "is too large")
		return 0
	}
	return n
}

func (r *record) date(c column) time.Time {
	d, err := time.Parse(time.DateOnly, r.raw(c))
	switch {
	case err != nil:
		r.fail(c, "is not a date as 2006-01-02")
	case d.Year() < firstYear || d.Year() > lastYear:
		r.fail(c, fmt.Sprintf("is not in the years %d to %d", firstYear, lastYear))
	}
	return d
}

// arrival puts the arrival date together from its three columns.
func (r *record) arrival() time.Time {
	before := len(r.wrong)
	year, day := r.count(colYear), r.count(colDay)
	month, ok := monthOf[r.raw(colMonth)]
	if !ok {
		r.fail(colMonth, "is not the English name of a month")
	}
	if year < firstYear || year > lastYear {
		r.fail(colYear, fmt.Sprintf("is not in the years %d to %d", firstYear, lastYear))
	}
	d := time.Date(int(year), month, int(day), 0, 0, 0, 0, time.UTC)
	if len(r.wrong) == before && (d.Month() != month || int64(d.Day()) != day) {
		r.fail(colDay, fmt.Sprintf("is no day of %s %d", month, year))
	}
	return d
}
