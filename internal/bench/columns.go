package bench

import (
	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// columns are those of the files from memory: a reservation as the programs
// that are measured beside have it.
var columns = []sheet.Column{
	{Title: "ID", Type: table.Integer, Width: 12},
	{Title: "Reservation", Type: table.Code, Width: 18},
	{Title: "Status", Type: table.Text, Width: 11},
	{Title: "Guest", Type: table.Text, Width: 16},
	{Title: "Phone", Type: table.Code, Width: 15},
	{Title: "E-mail", Type: table.Text, Width: 26},
	{Title: "Shop", Type: table.Text, Width: 24},
	{Title: "Product", Type: table.Text, Width: 26},
	{Title: "Check-in", Type: table.Date, Width: 11},
	{Title: "Check-out", Type: table.Date, Width: 11},
	{Title: "Nights", Type: table.Integer, Width: 8},
	{Title: "Guests", Type: table.Integer, Width: 8},
	{Title: "List price", Type: table.Decimal, Scale: 2, Width: 14, Format: "#,##0.00"},
	{Title: "Discount", Type: table.Decimal, Scale: 2, Width: 14, Format: "#,##0.00"},
	{Title: "Coupon", Type: table.Code, Width: 14},
	{Title: "Paid", Type: table.Decimal, Scale: 2, Width: 14, Format: "#,##0.00"},
	{Title: "Method", Type: table.Text, Width: 14},
	{Title: "Paid at", Type: table.Time, Width: 20},
	{Title: "Created at", Type: table.Time, Width: 20},
	{Title: "Memo", Type: table.Text, Width: 40},
}
