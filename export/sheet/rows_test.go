package sheet_test

import (
	"fmt"
	"time"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// reservationColumns are 20 columns such as a backoffice lists.
var reservationColumns = []sheet.Column{
	{Title: "id", Type: table.Integer, Width: 14}, {Title: "code", Type: table.Code, Width: 18},
	{Title: "status", Type: table.Text, Width: 12}, {Title: "guest", Type: table.Text, Width: 14},
	{Title: "phone", Type: table.Code, Width: 15}, {Title: "email", Type: table.Text, Width: 26},
	{Title: "shop", Type: table.Text, Width: 28}, {Title: "product", Type: table.Text, Width: 28},
	{Title: "check in", Type: table.Date, Width: 12}, {Title: "check out", Type: table.Date, Width: 12},
	{Title: "nights", Type: table.Integer, Width: 8}, {Title: "guests", Type: table.Integer, Width: 8},
	{Title: "list price", Type: table.Decimal, Scale: 2, Width: 14}, {Title: "discount", Type: table.Decimal, Scale: 2, Width: 14},
	{Title: "coupon", Type: table.Code, Width: 16}, {Title: "paid", Type: table.Decimal, Scale: 2, Width: 14},
	{Title: "method", Type: table.Text, Width: 16}, {Title: "paid at", Type: table.Time, Width: 20},
	{Title: "created", Type: table.Time, Width: 20}, {Title: "memo", Type: table.Text, Width: 40},
}

// reservations makes n rows, the same each time.
func reservations(n int) []table.Row {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	family, statuses := []string{"김민준", "이서연", "Grace Hopper", "O'Neil & Söhne"}, []string{"CONFIRMED", "CANCELED", "COMPLETED", "NO_SHOW"}
	rows := make([]table.Row, n)
	for i := range rows {
		x := uint64(i+1) * 0x9e3779b97f4a7c15 >> 20 // spread, but the same each time
		coupon, paidAt, memo := table.Null(), table.Null(), table.Null()
		if x%5 == 0 {
			coupon = table.TextOf(fmt.Sprintf("WELCOME%d", x%97))
		}
		if x%3 != 0 {
			paidAt = table.TimeOf(start.Add(time.Duration(x%31_000_000) * time.Second))
		}
		if x%4 == 0 {
			memo = table.TextOf(fmt.Sprintf("=요청: 늦은 체크인 <%d>\r\nlate & \"quiet\" 🙂", x%1000))
		}
		day := 20500 + int64(x%400)
		rows[i] = table.Row{Key: int64(i + 1), Values: []table.Value{
			table.IntegerOf(int64(i + 1)), table.TextOf(fmt.Sprintf("%012d", x%1e12)),
			table.TextOf(statuses[x%4]), table.TextOf(family[x>>3%4]),
			table.TextOf(fmt.Sprintf("010-%04d-%04d", x%1e4, x>>8%1e4)), table.TextOf(fmt.Sprintf("guest%d@example.com", x%1e6)),
			table.TextOf(fmt.Sprintf("Hotel 서울 %d호점", x%500)), table.TextOf(fmt.Sprintf("Deluxe double room, plan %d", x%60)),
			table.DateOf(day), table.DateOf(day + int64(x%9)), table.IntegerOf(int64(x % 9)), table.IntegerOf(int64(x%4) + 1),
			table.DecimalOf(int64(x%90_000_000), 2), table.DecimalOf(int64(x%900_000), 2), coupon,
			table.DecimalOf(int64(x%80_000_000), 2), table.TextOf([]string{"CARD", "KAKAO_PAY", "BANK"}[x%3]), paidAt,
			table.TimeOf(start.Add(time.Duration(x%9_000_000) * time.Second)), memo,
		}}
	}
	return rows
}
