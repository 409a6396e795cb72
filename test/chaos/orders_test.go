package chaos

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"rowmill/internal/exportclient"
)

// columns are what each export of the campaign has, and head their titles.
var (
	columns = []string{"id", "code", "status", "check_in", "property", "amount"}
	head    = []string{"ID", "Reservation", "Status", "Check-in", "Property", "Amount"}
	// wider are what a wide file has besides, to be big.
	wider = []string{"check_out", "booked_on", "nights", "product", "channel", "agent", "guest_name", "guest_phone", "guest_email", "country",
		"customer_type", "nightly_rate", "currency", "payment_terms", "payment_status", "paid_at", "cancel_reason", "room_type", "meal", "memo"}
)

// shape is a property of exports: what is asked for, and the same in SQL.
type shape struct {
	name   string
	format string
	filter map[string][]string
	sort   string
	order  string
	where  string // of the same rows
	by     string // in the same order
	wide   bool
}

var shapes = []shape{
	{"whole wide CSV", "csv", nil, "id", "asc", "TRUE", "r.id", true},
	{"whole xlsx by day", "xlsx", nil, "check_in", "desc", "TRUE", "r.check_in DESC, r.id DESC", false},
	{"canceled CSV by day", "csv", map[string][]string{"status": {"Canceled"}}, "check_in", "asc", "r.status = 'Canceled'", "r.check_in, r.id", false},
	{"one property xlsx", "xlsx", map[string][]string{"property_id": {"1"}, "status": {"Canceled"}}, "id", "desc", "r.property_id = 1 AND r.status = 'Canceled'", "r.id DESC", false},
	{"whole CSV by nights", "csv", nil, "nights", "desc", "TRUE", "r.nights DESC, r.id DESC", false},
}

// orderOf gives the shape's order; the file's name makes it an order of its own.
func (s shape) orderOf(key string) exportclient.Order {
	asked := columns
	if s.wide {
		asked = slices.Concat(columns, wider)
	}
	return exportclient.Order{Format: s.format, Filter: s.filter, Sort: s.sort, Order: s.order, Columns: asked, Language: "en", FileName: key + "." + s.format}
}

// content is the rows of a file or of SQL, and the sum of their amounts in hundredths.
type content struct {
	Rows []string
	Sum  int64
}

func (c *content) add(cells []string, minor string) error {
	if minor != "" {
		n, err := strconv.ParseInt(minor, 10, 64)
		if err != nil {
			return err
		}
		c.Sum += n
		minor = strconv.FormatInt(n, 10) // a file writes 0.50, which is 050
	}
	c.Rows = append(c.Rows, strings.Join(append(cells, minor), "|"))
	return nil
}

// expected reads what a shape's file must hold straight from SQL.
func (h *house) expected(ctx context.Context, s shape) (c content, err error) {
	rows, err := h.db.QueryContext(ctx, `SELECT CAST(r.id AS CHAR), r.code, r.status, DATE_FORMAT(r.check_in, '%Y-%m-%d'), COALESCE(p.name, ''), COALESCE(CAST(pay.amount_minor AS CHAR), '')
		FROM rowmill.reservations r LEFT JOIN rowmill.properties p ON p.id = r.property_id LEFT JOIN rowmill.payments pay ON pay.reservation_id = r.id
		WHERE `+s.where+" ORDER BY "+s.by)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		cells := make([]string, 5)
		var minor string
		if err := rows.Scan(&cells[0], &cells[1], &cells[2], &cells[3], &cells[4], &minor); err != nil {
			return c, err
		}
		if err := c.add(cells, minor); err != nil {
			return c, err
		}
	}
	return c, rows.Err()
}

// contentOf reads a downloaded file.
func contentOf(path, format string) (content, error) {
	if format == "csv" {
		return contentOfCSV(path)
	}
	return contentOfXLSX(path)
}

func contentOfCSV(path string) (c content, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(string(text), "\uFEFF"))).ReadAll()
	if err != nil {
		return c, err
	}
	for i, r := range records {
		if i == 0 {
			if err := checkHead(r); err != nil {
				return c, err
			}
			continue
		}
		if err := c.add(r[:5], strings.Replace(r[5], ".", "", 1)); err != nil {
			return c, err
		}
	}
	return c, nil
}

func checkHead(titles []string) error {
	if len(titles) < len(head) || !slices.Equal(titles[:len(head)], head) {
		return fmt.Errorf("the titles are %q", titles)
	}
	return nil
}

func contentOfXLSX(path string) (c content, err error) {
	f, err := excelize.OpenFile(path)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rows, err := f.GetRows(f.GetSheetList()[0], excelize.Options{RawCellValue: true})
	if err != nil {
		return c, err
	}
	for i, r := range rows {
		if i == 0 {
			if err := checkHead(r); err != nil {
				return c, err
			}
			continue
		}
		r = append(r, make([]string, max(0, len(columns)-len(r)))...) // empty cells at the end are left out
		day, err := strconv.ParseFloat(r[3], 64)
		if err != nil {
			return c, fmt.Errorf("row %d: %w", i, err)
		}
		at, err := excelize.ExcelDateToTime(day, false)
		if err != nil {
			return c, fmt.Errorf("row %d: %w", i, err)
		}
		minor, err := hundredths(r[5])
		if err != nil {
			return c, fmt.Errorf("row %d: %w", i, err)
		}
		if err := c.add([]string{r[0], r[1], r[2], at.Format(time.DateOnly), r[4]}, minor); err != nil {
			return c, err
		}
	}
	return c, nil
}

// hundredths gives the whole hundredths of a cell's number; amounts here have far
// less than the 15 digits that a float keeps.
func hundredths(cell string) (string, error) {
	if cell == "" {
		return "", nil
	}
	amount, err := strconv.ParseFloat(cell, 64)
	return strconv.FormatInt(int64(math.Round(amount*100)), 10), err
}
