package reservation

import (
	"slices"

	"rowmill/internal/table"
)

// Part names the place a field is read from. Each part costs one statement a page.
type Part string

const (
	Main          Part = "reservation"
	PartProperty  Part = "property"
	PartProduct   Part = "product"
	PartChannel   Part = "channel"
	PartAgent     Part = "agent"
	PartGuest     Part = "guest"
	PartPayment   Part = "payment"
	PartCancel    Part = "cancellation"
	PartStay      Part = "stay"
	PartCouponUse Part = "coupon_use"

	// PartCoupon is no place: what is in it is worked out from the payment and the
	// coupon rules, which cost a statement together. A store leaves it NULL, and
	// coupon.Columns fills it.
	PartCoupon Part = "coupon"
)

// Keys of the fields in PartCoupon.
const (
	BestCoupon  = "best_coupon"
	CouponPrice = "coupon_price"
)

// Field is an entry of the catalog. Adding one is compatible; a key, once
// published, keeps its meaning and type.
type Field struct {
	Key    string // in the API, in filters and as the column's key
	Part   Part
	Column string // within the part
	Type   table.Type
	Scale  uint8 // of a decimal
	Titles Titles
	Width  float64 // in characters, for a sheet
	Format string  // number format of a sheet's column; "" for the type's own
	Sort   bool    // an index gives this order
	Prefix bool    // prefix text search

	Personal Personal // of a guest's personal data
}

// Personal is a kind of personal data; "" is none.
type Personal string

const (
	PersonalName  Personal = "name"
	PersonalPhone Personal = "phone"
	PersonalEmail Personal = "email"
	PersonalText  Personal = "text" // free text, which may hold anything
)

// Titles are a field's heads, by language.
type Titles struct{ Korean, English string }

var catalog = []Field{
	{Key: "id", Column: "id", Type: table.Integer, Titles: Titles{"번호", "ID"}, Width: 10, Sort: true},
	{Key: "code", Column: "code", Type: table.Code, Titles: Titles{"예약번호", "Reservation"}, Width: 12, Sort: true, Prefix: true},
	{Key: "status", Column: "status", Type: table.Text, Titles: Titles{"상태", "Status"}, Width: 11, Sort: true},
	{Key: "status_date", Column: "status_date", Type: table.Date, Titles: Titles{"상태 변경일", "Status date"}, Width: 12, Sort: true},
	{Key: "booked_on", Column: "booked_on", Type: table.Date, Titles: Titles{"예약일", "Booked on"}, Width: 12, Sort: true},
	{Key: "check_in", Column: "check_in", Type: table.Date, Titles: Titles{"체크인", "Check-in"}, Width: 12, Sort: true},
	{Key: "check_out", Column: "check_out", Type: table.Date, Titles: Titles{"체크아웃", "Check-out"}, Width: 12, Sort: true},
	{Key: "nights", Column: "nights", Type: table.Integer, Titles: Titles{"숙박일수", "Nights"}, Width: 8, Sort: true},
	{Key: "property_id", Column: "property_id", Type: table.Integer, Titles: Titles{"호텔 번호", "Property ID"}, Width: 10},
	{Key: "property", Part: PartProperty, Column: "name", Type: table.Text, Titles: Titles{"호텔", "Property"}, Width: 16},
	{Key: "product_id", Column: "product_id", Type: table.Integer, Titles: Titles{"상품 번호", "Product ID"}, Width: 10},
	{Key: "product", Part: PartProduct, Column: "name", Type: table.Text, Titles: Titles{"상품", "Product"}, Width: 24},
	{Key: "channel_id", Column: "channel_id", Type: table.Integer, Titles: Titles{"채널 번호", "Channel ID"}, Width: 10},
	{Key: "channel", Part: PartChannel, Column: "name", Type: table.Text, Titles: Titles{"채널", "Channel"}, Width: 24},
	{Key: "agent_id", Column: "agent_id", Type: table.Integer, Titles: Titles{"여행사 번호", "Agent ID"}, Width: 10},
	{Key: "agent", Part: PartAgent, Column: "name", Type: table.Text, Titles: Titles{"여행사", "Agent"}, Width: 24},
	{Key: "agent_code", Part: PartAgent, Column: "code", Type: table.Code, Titles: Titles{"여행사 코드", "Agent code"}, Width: 12},
	{Key: "company", Column: "company", Type: table.Code, Titles: Titles{"법인 코드", "Company"}, Width: 10},
	{Key: "guest_name", Part: PartGuest, Column: "name", Type: table.Text, Titles: Titles{"고객명", "Guest"}, Width: 18, Prefix: true, Personal: PersonalName},
	{Key: "guest_phone", Part: PartGuest, Column: "phone", Type: table.Code, Titles: Titles{"연락처", "Phone"}, Width: 17, Personal: PersonalPhone},
	{Key: "guest_email", Part: PartGuest, Column: "email", Type: table.Text, Titles: Titles{"이메일", "E-mail"}, Width: 28, Personal: PersonalEmail},
	{Key: "country", Part: PartGuest, Column: "country", Type: table.Code, Titles: Titles{"국가", "Country"}, Width: 9},
	{Key: "adults", Part: PartGuest, Column: "adults", Type: table.Integer, Titles: Titles{"성인", "Adults"}, Width: 8},
	{Key: "children", Part: PartGuest, Column: "children", Type: table.Integer, Titles: Titles{"아동", "Children"}, Width: 9},
	{Key: "babies", Part: PartGuest, Column: "babies", Type: table.Integer, Titles: Titles{"유아", "Babies"}, Width: 8},
	{Key: "customer_type", Part: PartGuest, Column: "customer_type", Type: table.Text, Titles: Titles{"고객 유형", "Customer type"}, Width: 15},
	{Key: "repeated_guest", Part: PartGuest, Column: "repeated", Type: table.Bool, Titles: Titles{"재방문", "Repeated guest"}, Width: 10},
	{Key: "earlier_canceled", Part: PartGuest, Column: "earlier_canceled", Type: table.Integer, Titles: Titles{"이전 취소", "Earlier canceled"}, Width: 10},
	{Key: "earlier_kept", Part: PartGuest, Column: "earlier_kept", Type: table.Integer, Titles: Titles{"이전 이용", "Earlier kept"}, Width: 10},
	{Key: "amount", Part: PartPayment, Column: "amount_minor", Type: table.Decimal, Scale: 2, Titles: Titles{"결제금액", "Amount"}, Width: 12, Format: "#,##0.00"},
	{Key: "nightly_rate", Part: PartPayment, Column: "rate_minor", Type: table.Decimal, Scale: 2, Titles: Titles{"1박 요금", "Nightly rate"}, Width: 12, Format: "#,##0.00"},
	{Key: "currency", Part: PartPayment, Column: "currency", Type: table.Code, Titles: Titles{"통화", "Currency"}, Width: 9},
	{Key: "payment_terms", Part: PartPayment, Column: "terms", Type: table.Text, Titles: Titles{"결제 조건", "Payment terms"}, Width: 14},
	{Key: "payment_status", Part: PartPayment, Column: "status", Type: table.Text, Titles: Titles{"결제 상태", "Payment status"}, Width: 14},
	{Key: "paid_at", Part: PartPayment, Column: "paid_at", Type: table.Time, Titles: Titles{"결제일시", "Paid at"}, Width: 20},
	{Key: "canceled_on", Part: PartCancel, Column: "canceled_on", Type: table.Date, Titles: Titles{"취소일", "Canceled on"}, Width: 12},
	{Key: "cancel_reason", Part: PartCancel, Column: "reason", Type: table.Text, Titles: Titles{"취소 사유", "Cancel reason"}, Width: 16},
	{Key: "room_type", Part: PartStay, Column: "room_type", Type: table.Code, Titles: Titles{"배정 객실", "Assigned room"}, Width: 10},
	{Key: "meal", Part: PartStay, Column: "meal", Type: table.Code, Titles: Titles{"식사", "Meal"}, Width: 9},
	{Key: "parking", Part: PartStay, Column: "parking", Type: table.Integer, Titles: Titles{"주차", "Parking"}, Width: 8},
	{Key: "requests", Part: PartStay, Column: "requests", Type: table.Integer, Titles: Titles{"요청 수", "Requests"}, Width: 9},
	{Key: "changes", Part: PartStay, Column: "changes", Type: table.Integer, Titles: Titles{"변경 수", "Changes"}, Width: 9},
	{Key: "waiting_days", Part: PartStay, Column: "waiting_days", Type: table.Integer, Titles: Titles{"대기일수", "Waiting days"}, Width: 9},
	{Key: "coupon_code", Part: PartCouponUse, Column: "code", Type: table.Code, Titles: Titles{"쿠폰", "Coupon"}, Width: 12},
	{Key: "coupon_discount", Part: PartCouponUse, Column: "discount_minor", Type: table.Decimal, Scale: 2, Titles: Titles{"쿠폰 할인", "Coupon discount"}, Width: 12, Format: "#,##0.00"},
	{Key: "coupon_used_on", Part: PartCouponUse, Column: "used_on", Type: table.Date, Titles: Titles{"쿠폰 사용일", "Coupon used on"}, Width: 12},
	{Key: BestCoupon, Part: PartCoupon, Column: "code", Type: table.Code, Titles: Titles{"최적 쿠폰", "Best coupon"}, Width: 14},
	{Key: CouponPrice, Part: PartCoupon, Column: "price_minor", Type: table.Decimal, Scale: 2, Titles: Titles{"쿠폰 적용가", "Coupon price"}, Width: 12, Format: "#,##0.00"},
	{Key: "memo", Column: "memo", Type: table.Text, Titles: Titles{"메모", "Memo"}, Width: 40, Personal: PersonalText},
	{Key: "updated_at", Column: "updated_at", Type: table.Time, Titles: Titles{"수정일시", "Updated at"}, Width: 20, Sort: true},
}

var byKey = index(catalog)

func index(fields []Field) map[string]int {
	m := make(map[string]int, len(fields))
	for i := range fields {
		if fields[i].Part == "" {
			fields[i].Part = Main
		}
		m[fields[i].Key] = i
	}
	return m
}

// defaultFields are the columns of an export that names none: the list as the
// backoffice shows it.
var defaultFields = []string{
	"id", "code", "status", "property", "product", "channel", "agent",
	"booked_on", "check_in", "check_out", "nights",
	"guest_name", "guest_phone", "guest_email", "country", "adults", "children", "babies",
	"amount", "payment_terms", "paid_at", "canceled_on", "room_type", "coupon_code", "memo",
}

// Fields gives the whole catalog, in the order a person would read it.
func Fields() []Field { return slices.Clone(catalog) }

// StoredFields gives the fields of the catalog that stores hold: all that rows can be
// selected by.
func StoredFields() []Field {
	return slices.DeleteFunc(Fields(), Field.Computed)
}

// Computed reports whether the field is worked out for each page. No store can select
// or sort by it.
func (f Field) Computed() bool { return f.Part == PartCoupon }

// DefaultFields gives the keys of the fields that an export has if it names none.
func DefaultFields() []string { return slices.Clone(defaultFields) }

// FieldOf gives the field with the key.
func FieldOf(key string) (Field, bool) {
	i, ok := byKey[key]
	if !ok {
		return Field{}, false
	}
	return catalog[i], true
}
