package ingest

import (
	"fmt"
	"strings"
	"time"

	"rowmill/reservation"
)

// bookingsKey starts the made-up parts of the bookings file; any other number
// would give other people.
const bookingsKey = 20190226

// booking makes row id out of a line. What is wrong with the line is in rec.
func booking(rec *record, id int64, g *registry) reservation.Reservation {
	rec.count(colWeek) // the week says nothing that the date does not, but must be a number
	arrival := rec.arrival()
	nights := rec.count(colWeekendNights) + rec.count(colWeekNights)
	hotel, room := rec.text(colHotel, maxText), rec.text(colReservedRoom, maxCode)
	distribution, segment := rec.text(colDistribution, maxText), rec.text(colSegment, maxText)
	agent := rec.optionalText(colAgent, maxCode)
	row := reservation.Reservation{
		ID:         id,
		Code:       code(id),
		Company:    rec.optionalText(colCompany, maxCode),
		Status:     status(rec),
		StatusDate: rec.date(colStatusDate),
		BookedOn:   arrival.AddDate(0, 0, -int(rec.count(colLeadTime))),
		CheckIn:    arrival,
		CheckOut:   arrival.AddDate(0, 0, int(nights)),
		Nights:     nights,
		Guest:      guest(rec),
		Payment:    payment(rec.cents(colADR), nights, rec.text(colDeposit, maxText)),
		Stay:       stay(rec),
	}
	if len(rec.wrong) > 0 {
		return row // a bad line names no look-up
	}
	row.PropertyID = g.property(strings.Clone(hotel)) // a registry's text outlives its line
	row.ProductID = g.product(row.PropertyID, strings.Clone(room))
	row.ChannelID = g.channel(strings.Clone(distribution), strings.Clone(segment))
	if agent != nil {
		agentID := g.agent(row.PropertyID, strings.Clone(*agent))
		row.AgentID = &agentID
	}
	makeUp(newDice(bookingsKey, id), &row)
	return row
}

// code is the reservation's number as people say it.
func code(id int64) string { return fmt.Sprintf("%08d", id) }

func status(rec *record) reservation.Status {
	s := reservation.Status(rec.raw(colStatus))
	switch s {
	case reservation.CheckedOut, reservation.Canceled, reservation.NoShow:
		if canceled := rec.flag(colIsCanceled); canceled == (s == reservation.CheckedOut) {
			rec.fail(colIsCanceled, fmt.Sprintf("contradicts the status %s", s))
		}
	default:
		rec.fail(colStatus, "is none of Check-Out, Canceled, No-Show")
	}
	return s
}

func guest(rec *record) *reservation.Guest {
	return &reservation.Guest{
		Country:         rec.optionalText(colCountry, maxCountry),
		Adults:          rec.count(colAdults),
		Children:        rec.optionalCount(colChildren),
		Babies:          rec.count(colBabies),
		CustomerType:    rec.text(colCustomerType, maxText),
		Repeated:        rec.flag(colRepeated),
		EarlierCanceled: rec.count(colEarlierCanceled),
		EarlierKept:     rec.count(colEarlierKept),
	}
}

// payment is rate × nights, exactly: both are whole numbers.
func payment(rateMinor, nights int64, terms string) *reservation.Payment {
	return &reservation.Payment{AmountMinor: rateMinor * nights, RateMinor: rateMinor, Currency: Currency, Terms: terms}
}

func stay(rec *record) *reservation.Stay {
	return &reservation.Stay{
		RoomType:    rec.text(colAssignedRoom, maxCode),
		Meal:        rec.text(colMeal, maxCode),
		Parking:     rec.count(colParking),
		Requests:    rec.count(colRequests),
		Changes:     rec.count(colChanges),
		WaitingDays: rec.count(colWaitingDays),
	}
}

// day is the UTC day that lies n days after d.
func day(d time.Time, n int) time.Time { return d.AddDate(0, 0, n) }
