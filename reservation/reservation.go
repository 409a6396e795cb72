// Package reservation owns the domain: what a reservation and its one-to-one
// parts are, the catalog of fields that a caller may ask, filter and sort by,
// and the parsed Filter and Sort that every store must obey. It stores nothing.
package reservation

import "time"

// Reservation is a booking with the parts that hang on it one to one. A nil
// part does not exist for this reservation.
type Reservation struct {
	ID         int64
	Code       string // eight digits, leading zeros kept
	PropertyID int64
	ProductID  int64
	ChannelID  int64
	AgentID    *int64
	Company    *string // code of the paying company
	Status     Status
	StatusDate time.Time // a day, in UTC
	BookedOn   time.Time // a day, in UTC
	CheckIn    time.Time // a day, in UTC
	CheckOut   time.Time // a day, in UTC
	Nights     int64
	Memo       *string
	UpdatedAt  time.Time

	Guest        *Guest
	Payment      *Payment
	Cancellation *Cancellation
	Stay         *Stay
	CouponUse    *CouponUse
}

// Status is where a reservation stands.
type Status string

const (
	CheckedOut Status = "Check-Out"
	Canceled   Status = "Canceled"
	NoShow     Status = "No-Show"
)

// Guest is who booked and how many come. It is personal data.
type Guest struct {
	Name, Phone, Email string
	Country            *string // ISO 3166-1 alpha-3 as the source gives it
	Adults, Babies     int64
	Children           *int64
	CustomerType       string
	Repeated           bool
	EarlierCanceled    int64
	EarlierKept        int64
}

// Payment is what the stay costs and how it is paid.
type Payment struct {
	AmountMinor int64 // in hundredths of Currency
	RateMinor   int64 // average per night, in hundredths of Currency
	Currency    string
	Terms       string
	Status      string // "paid" or "open"
	PaidAt      *time.Time
}

// Cancellation says when and why a reservation fell through.
type Cancellation struct {
	CanceledOn time.Time // a day, in UTC
	Reason     string
}

// Stay is what the house arranged for it.
type Stay struct {
	RoomType    string
	Meal        string
	Parking     int64
	Requests    int64
	Changes     int64
	WaitingDays int64
}

// CouponUse is the coupon spent on it.
type CouponUse struct {
	Code          string
	DiscountMinor int64 // in hundredths of the payment's currency
	UsedOn        time.Time
}

// A Property is a hotel, a Product one of its room types, a Channel the way a
// booking came, an Agent who made it.
type (
	Property struct {
		ID   int64
		Name string
	}
	Product struct {
		ID, PropertyID int64
		Name           string
	}
	Channel struct {
		ID   int64
		Name string
	}
	Agent struct {
		ID         int64
		PropertyID int64
		Code       string // the number in the source; agencies are numbered per hotel
		Name       string
	}
)
