package ingest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/ingest"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

const header = "hotel,is_canceled,lead_time,arrival_date_year,arrival_date_month,arrival_date_week_number,arrival_date_day_of_month," +
	"stays_in_weekend_nights,stays_in_week_nights,adults,children,babies,meal,country,market_segment,distribution_channel," +
	"is_repeated_guest,previous_cancellations,previous_bookings_not_canceled,reserved_room_type,assigned_room_type,booking_changes," +
	"deposit_type,agent,company,days_in_waiting_list,customer_type,adr,required_car_parking_spaces,total_of_special_requests," +
	"reservation_status,reservation_status_date\n"

const goodLine = "Resort Hotel,0,195,2017,March,10,5,4,6,2,0,0,BB,GBR,Groups,Direct,1,0,2,A,H,2,No Deposit,273,NULL,0,Transient-Party,-6.38,0,1,Check-Out,2017-03-15\n"

// line is the good line with the columns changed: name, value, name, value …
func line(t *testing.T, changes ...string) string {
	t.Helper()
	names, fields := strings.Split(strings.TrimSpace(header), ","), strings.Split(strings.TrimSpace(goodLine), ",")
	for i := 0; i < len(changes); i += 2 {
		place := slices.Index(names, changes[i])
		if place < 0 {
			t.Fatalf("no column %q", changes[i])
		}
		fields[place] = changes[i+1]
	}
	return strings.Join(fields, ",") + "\n"
}

func collect(src *ingest.Source) (rows []reservation.Reservation, err error) {
	for row, rowErr := range src.Rows() {
		if rowErr != nil {
			err = errors.Join(err, rowErr)
			continue
		}
		rows = append(rows, row)
	}
	return rows, err
}

func one(t *testing.T, csv string) reservation.Reservation {
	t.Helper()
	rows, err := collect(ingest.HotelBookings(strings.NewReader(csv)))
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %d rows, error %v; want one row", len(rows), err)
	}
	return rows[0]
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHotelBookingsReadsALine(t *testing.T) {
	got := one(t, header+goodLine)
	want := reservation.Reservation{
		ID: 1, Code: "00000001", PropertyID: 1, ProductID: 1, ChannelID: 1, AgentID: new(int64(1)),
		Status: reservation.CheckedOut, StatusDate: date(2017, 3, 15),
		BookedOn: date(2016, 8, 22), CheckIn: date(2017, 3, 5), CheckOut: date(2017, 3, 15), Nights: 10,
		Guest:   &reservation.Guest{Country: new("GBR"), Adults: 2, Children: new(int64(0)), CustomerType: "Transient-Party", Repeated: true, EarlierKept: 2},
		Payment: &reservation.Payment{AmountMinor: -63_80, RateMinor: -6_38, Currency: "EUR", Terms: "No Deposit", Status: "paid"},
		Stay:    &reservation.Stay{RoomType: "H", Meal: "BB", Requests: 1, Changes: 2},
	}
	// the made-up parts have a test of their own
	want.Memo, want.UpdatedAt, want.CouponUse = got.Memo, got.UpdatedAt, got.CouponUse
	want.Guest.Name, want.Guest.Phone, want.Guest.Email = got.Guest.Name, got.Guest.Phone, got.Guest.Email
	want.Payment.PaidAt = got.Payment.PaidAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("row (-want +got):\n" + diff)
	}
}

func TestHotelBookingsNumbersLookups(t *testing.T) {
	src := ingest.HotelBookings(strings.NewReader(header + goodLine +
		line(t, "hotel", "City Hotel") + // the same agent number, another agency
		line(t, "reserved_room_type", "C", "market_segment", "Online TA", "agent", "NULL") +
		goodLine))
	rows, err := collect(src)
	if err != nil {
		t.Fatal(err)
	}
	want := ingest.Lookups{
		Properties: []reservation.Property{{ID: 1, Name: "Resort Hotel"}, {ID: 2, Name: "City Hotel"}},
		Products: []reservation.Product{
			{ID: 1, PropertyID: 1, Name: "Resort Hotel, room A"}, {ID: 2, PropertyID: 2, Name: "City Hotel, room A"}, {ID: 3, PropertyID: 1, Name: "Resort Hotel, room C"},
		},
		Channels: []reservation.Channel{{ID: 1, Name: "Direct · Groups"}, {ID: 2, Name: "Direct · Online TA"}},
		Agents: []reservation.Agent{
			{ID: 1, PropertyID: 1, Code: "273", Name: "Resort Hotel, agency 273"}, {ID: 2, PropertyID: 2, Code: "273", Name: "City Hotel, agency 273"},
		},
	}
	if diff := cmp.Diff(want, src.Lookups()); diff != "" {
		t.Error("look-ups (-want +got):\n" + diff)
	}
	type ids struct{ property, product, channel, agent int64 }
	var got []ids
	for _, r := range rows {
		agent := int64(0)
		if r.AgentID != nil {
			agent = *r.AgentID
		}
		got = append(got, ids{r.PropertyID, r.ProductID, r.ChannelID, agent})
	}
	if diff := cmp.Diff([]ids{{1, 1, 1, 1}, {2, 2, 1, 2}, {1, 3, 2, 0}, {1, 1, 1, 1}}, got, cmp.AllowUnexported(ids{})); diff != "" {
		t.Error("ids (-want +got):\n" + diff)
	}
}

func TestHotelBookingsValues(t *testing.T) {
	amounts := func(r reservation.Reservation) any { return [2]int64{r.Payment.RateMinor, r.Payment.AmountMinor} }
	unknown := func(r reservation.Reservation) any {
		return [4]bool{r.Guest.Country == nil, r.Guest.Children == nil, r.AgentID == nil, r.Company == nil}
	}
	fallen := func(r reservation.Reservation) any { return r.Cancellation.CanceledOn.Format(time.DateOnly) }
	tests := []struct {
		name    string
		changes []string
		get     func(reservation.Reservation) any
		want    any
	}{
		{"no decimals", []string{"adr", "75"}, amounts, [2]int64{75_00, 750_00}},
		{"one decimal", []string{"adr", "75.1"}, amounts, [2]int64{75_10, 751_00}},
		{"cents that a float loses", []string{"adr", "1.15"}, amounts, [2]int64{1_15, 11_50}},
		{"zero nights", []string{"adr", "5400", "stays_in_weekend_nights", "0", "stays_in_week_nights", "0"}, amounts, [2]int64{5400_00, 0}},
		{"nothing unknown", []string{"company", "12"}, unknown, [4]bool{}},
		{"NULL and NA", []string{"country", "NULL", "children", "NA", "agent", "NULL"}, unknown, [4]bool{true, true, true, true}},
		{"canceled", []string{"is_canceled", "1", "reservation_status", "Canceled", "reservation_status_date", "2017-02-01"}, fallen, "2017-02-01"},
		{"no-show", []string{"is_canceled", "1", "reservation_status", "No-Show", "reservation_status_date", "2017-03-05"}, fallen, "2017-03-05"},
		{"kept", nil, func(r reservation.Reservation) any { return r.Cancellation == nil }, true},
		{"leap day", []string{"arrival_date_year", "2016", "arrival_date_month", "February", "arrival_date_day_of_month", "29"},
			func(r reservation.Reservation) any { return r.CheckIn }, date(2016, 2, 29)},
		{"company keeps its zeros", []string{"company", "007"}, func(r reservation.Reservation) any { return *r.Company }, "007"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.get(one(t, header+line(t, tt.changes...)))); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
}

func TestHotelBookingsFormats(t *testing.T) {
	want := one(t, header+goodLine)
	reversed := func(s string) string {
		fields := strings.Split(strings.TrimSpace(s), ",")
		slices.Reverse(fields)
		return strings.Join(fields, ",") + "\n"
	}
	for name, file := range map[string]string{
		"gzip":               string(zipped(t, header+goodLine)),
		"byte-order mark":    "\uFEFF" + header + goodLine,
		"CRLF":               strings.ReplaceAll(header+goodLine, "\n", "\r\n"),
		"no last line break": strings.TrimSpace(header + goodLine),
		"other column order": reversed(header) + reversed(goodLine),
		"quoted":             header + strings.Replace(goodLine, "Resort Hotel", `"Resort Hotel"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, one(t, file)); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
}

func TestHotelBookingsNamesBadFields(t *testing.T) {
	tests := []struct {
		name, file string
		want       []fault.Field
	}{
		{"number", header + goodLine + line(t, "adr", "x"), []fault.Field{{Name: "line 3", Detail: `column adr: "x" is not a number`}}},
		{"three decimals", header + line(t, "adr", "1.234"), []fault.Field{{Name: "line 2", Detail: `column adr: "1.234" has more than 2 decimals`}}},
		{"huge rate", header + line(t, "adr", "10000000000"), []fault.Field{{Name: "line 2", Detail: `column adr: "10000000000" is too large`}}},
		{"rate past 64 bits", header + line(t, "adr", "-12345678901234567890"), []fault.Field{{Name: "line 2", Detail: `column adr: "-12345678901234567890" is too large`}}},
		{"NULL where there must be a number", header + line(t, "adults", "NULL"), []fault.Field{{Name: "line 2", Detail: `column adults: "NULL" is not a whole number from 0`}}},
		{"negative count", header + line(t, "babies", "-1"), []fault.Field{{Name: "line 2", Detail: `column babies: "-1" is not a whole number from 0`}}},
		{"huge count", header + line(t, "lead_time", "99999999999999999999"), []fault.Field{{Name: "line 2", Detail: `column lead_time: "99999999999999999999" is more than 30000`}}},
		{"date", header + line(t, "reservation_status_date", "15/03/2017"), []fault.Field{{Name: "line 2", Detail: `column reservation_status_date: "15/03/2017" is not a date as 2006-01-02`}}},
		{"zero date", header + line(t, "reservation_status_date", "0000-00-00"), []fault.Field{{Name: "line 2", Detail: `column reservation_status_date: "0000-00-00" is not a date as 2006-01-02`}}},
		{"date of long ago", header + line(t, "reservation_status_date", "0207-03-15"), []fault.Field{{Name: "line 2", Detail: `column reservation_status_date: "0207-03-15" is not in the years 1900 to 9000`}}},
		{"day that the month has not", header + line(t, "arrival_date_month", "February", "arrival_date_day_of_month", "29"), []fault.Field{{Name: "line 2", Detail: `column arrival_date_day_of_month: "29" is no day of February 2017`}}},
		{"month", header + line(t, "arrival_date_month", "Mar"), []fault.Field{{Name: "line 2", Detail: `column arrival_date_month: "Mar" is not the English name of a month`}}},
		{"year", header + line(t, "arrival_date_year", "17"), []fault.Field{{Name: "line 2", Detail: `column arrival_date_year: "17" is not in the years 1900 to 9000`}}},
		{"flag", header + line(t, "is_repeated_guest", "yes"), []fault.Field{{Name: "line 2", Detail: `column is_repeated_guest: "yes" is neither 0 nor 1`}}},
		{"status", header + line(t, "reservation_status", "Gone"), []fault.Field{{Name: "line 2", Detail: `column reservation_status: "Gone" is none of Check-Out, Canceled, No-Show`}}},
		{"status against flag", header + line(t, "is_canceled", "1"), []fault.Field{{Name: "line 2", Detail: `column is_canceled: "1" contradicts the status Check-Out`}}},
		{"empty text", header + line(t, "meal", ""), []fault.Field{{Name: "line 2", Detail: `column meal: "" is no text`}}},
		{"long text", header + line(t, "agent", strings.Repeat("9", 33)), []fault.Field{{Name: "line 2", Detail: `column agent: "` + strings.Repeat("9", 33) + `" is longer than 32 bytes`}}},
		{"bytes that are no text", header + line(t, "country", "\xff"), []fault.Field{{Name: "line 2", Detail: `column country: "\xff" is not UTF-8`}}},
		{"short line", header + "Resort Hotel,0,195\n" + goodLine, []fault.Field{{Name: "line 2", Detail: "has 3 fields, not 32"}}},
		{"long line", header + strings.TrimSpace(goodLine) + ",1\n", []fault.Field{{Name: "line 2", Detail: "has 33 fields, not 32"}}},
		{"stray quote", header + strings.Replace(goodLine, "BB", `B"B`, 1), []fault.Field{{Name: "line 2", Detail: `is not CSV: bare " in non-quoted-field`}}},
		{"two fields of one line, and another line after a good one", header + line(t, "adr", "x", "adults", "y") + goodLine + line(t, "babies", "z"), []fault.Field{
			{Name: "line 2", Detail: `column adr: "x" is not a number`},
			{Name: "line 2", Detail: `column adults: "y" is not a whole number from 0`},
			{Name: "line 4", Detail: `column babies: "z" is not a whole number from 0`},
		}},
		{"line number after a field with a line break", header + strings.Replace(goodLine, "Resort Hotel", "\"Resort\nHotel\"", 1) + line(t, "adr", "x"), []fault.Field{{Name: "line 4", Detail: `column adr: "x" is not a number`}}},
		{"missing column", strings.Replace(header, ",adr", "", 1), []fault.Field{{Name: "line 1", Detail: "column adr: is missing"}}},
		{"unknown column", strings.Replace(header, ",adr", ",ADR", 1), []fault.Field{{Name: "line 1", Detail: `column "ADR": is unknown`}, {Name: "line 1", Detail: "column adr: is missing"}}},
		{"column twice", strings.Replace(header, ",meal", ",adr", 1), []fault.Field{{Name: "line 1", Detail: "column adr: is there twice"}, {Name: "line 1", Detail: "column meal: is missing"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := collect(ingest.HotelBookings(strings.NewReader(tt.file)))
			e, ok := fault.As(err)
			if !ok || e.Kind != fault.Invalid {
				t.Fatalf("error %v, want a fault.Invalid", err)
			}
			byLineAndText := func(a, b fault.Field) int { return strings.Compare(a.Name+a.Detail, b.Name+b.Detail) }
			slices.SortFunc(e.Fields, byLineAndText) // within a line the order does not matter
			slices.SortFunc(tt.want, byLineAndText)
			if diff := cmp.Diff(tt.want, e.Fields); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
}

func TestHotelBookingsErrorReadsWell(t *testing.T) {
	_, err := collect(ingest.HotelBookings(strings.NewReader(header + strings.Repeat(goodLine, 121) + line(t, "adr", "x"))))
	want := `The file has a bad line; nothing was imported.; line 123: column adr: "x" is not a number`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestHotelBookingsGivesNoRowAfterABadLine(t *testing.T) {
	rows, err := collect(ingest.HotelBookings(strings.NewReader(header + goodLine + goodLine + line(t, "adr", "x") + goodLine)))
	if err == nil || len(rows) != 2 {
		t.Errorf("%d rows and error %v, want 2 rows and an error", len(rows), err)
	}
}

func TestHotelBookingsGivesUpAfterMaxBadLines(t *testing.T) {
	_, err := collect(ingest.HotelBookings(strings.NewReader(header + strings.Repeat(line(t, "adr", "x"), ingest.MaxBadLines) + line(t, "meal", ""))))
	e, ok := fault.As(err)
	if !ok || len(e.Fields) != ingest.MaxBadLines || e.Fields[ingest.MaxBadLines-1].Name != "line 21" {
		t.Errorf("error %v, want the first %d bad lines", err, ingest.MaxBadLines)
	}
}

func TestHotelBookingsDamagedFile(t *testing.T) {
	whole := zipped(t, header+strings.Repeat(goodLine, 1000))
	damaged := slices.Clone(whole)
	damaged[len(damaged)-8] ^= 1 // the checksum
	for name, r := range map[string]io.Reader{
		"empty":          strings.NewReader(""),
		"no gzip header": strings.NewReader("\x1f\x8b\x00"),
		"cut off":        bytes.NewReader(whole[:len(whole)/2]),
		"wrong checksum": bytes.NewReader(damaged),
		"failing disk":   io.MultiReader(strings.NewReader(header+goodLine), iotest.ErrReader(errors.New("disk"))),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := collect(ingest.HotelBookings(r)); fault.KindOf(err) != fault.Invalid {
				t.Errorf("error %v, want a fault.Invalid", err)
			}
		})
	}
}

func TestRowStopsTheReading(t *testing.T) {
	row, err := ingest.HotelBookings(strings.NewReader(header + goodLine + line(t, "meal", "HB") + "rubbish")).Row(2)
	if err != nil || row.ID != 2 || row.Stay.Meal != "HB" {
		t.Errorf("row %+v, error %v", row, err)
	}
	if _, err := ingest.HotelBookings(strings.NewReader(header + goodLine)).Row(2); fault.KindOf(err) != fault.NotFound {
		t.Errorf("error %v, want a fault.NotFound", err)
	}
}
