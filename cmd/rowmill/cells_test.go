package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/config"
	"rowmill/internal/exportclient"
)

// oddRow is a row as SQL holds it, and as it must be read from either file. A
// phone of nil is a reservation without a guest, an amount of nil one without a payment.
type oddRow struct {
	id                       int64
	code                     string
	memo, phone, amountMinor any
	checkIn, updatedAt       string
	xlsx                     []string // as testdata/cells.py tells; "" where there is no cell
	csv                      string
	lost                     []lost
}

// lost is what a cell of the row is counted as.
type lost struct {
	kind   sheet.LossKind
	column string
	csvToo bool
}

const (
	plainDay, plainTime   = "2024-02-29", "2024-01-01 00:00:00"
	plainXLSX, plainXTime = "d:2024-02-29 00:00:00", "d:2024-01-01 09:00:00"
	plainCSV              = "2024-02-29,2024-01-01T09:00:00+09:00"
)

var ga40000 = strings.Repeat("가", 40_000)

// oddColumns are the columns asked for, and oddHead what their titles are.
var (
	oddColumns = []string{"id", "code", "memo", "guest_phone", "amount", "check_in", "updated_at"}
	oddHead    = []string{"s:ID", "s:Reservation", "s:Memo", "s:Phone", "s:Amount", "s:Check-in", "s:Updated at"}
)

// oddRows are in the order of their ids. The first has neither guest nor payment:
// the columns must not hang on what it has.
var oddRows = []oddRow{
	{id: 1, code: "00123", checkIn: "2023-12-31", updatedAt: "2023-12-31 15:00:00",
		xlsx: []string{"n:1", "s:00123", "", "", "", "d:2023-12-31 00:00:00", "d:2024-01-01 00:00:00"},
		csv:  `1,"00123",,,,2023-12-31,2024-01-01T00:00:00+09:00`},
	{id: 2, code: "010-1234-5678", memo: "", phone: "", amountMinor: 10, checkIn: plainDay, updatedAt: plainTime,
		xlsx: []string{"n:2", "s:010-1234-5678", "s:", "s:", "n:0.1", plainXLSX, plainXTime},
		csv:  `2,"010-1234-5678","","",0.10,` + plainCSV},
	{id: 3, code: "3", memo: "a\x16b", phone: "+82 10", amountMinor: -2, checkIn: plainDay, updatedAt: plainTime,
		xlsx: []string{"n:3", "s:3", "s:a\uFFFDb", "s:+82 10", "n:-0.02", plainXLSX, plainXTime},
		csv:  "3,\"3\",\"a\uFFFDb\",\"'+82 10\",-0.02," + plainCSV, lost: []lost{{sheet.Replaced, "Memo", true}}},
	{id: 4, code: "4", memo: "\x00\uFFFE", phone: "-0.02", amountMinor: 99999999999999, checkIn: plainDay, updatedAt: plainTime,
		xlsx: []string{"n:4", "s:4", "s:\uFFFD\uFFFD", "s:-0.02", "n:999999999999.99", plainXLSX, plainXTime},
		csv:  "4,\"4\",\"\uFFFD\uFFFD\",\"-0.02\",999999999999.99," + plainCSV, lost: []lost{{sheet.Replaced, "Memo", true}}},
	{id: 5, code: "5", memo: ga40000, phone: "@x", amountMinor: 123456789012345678, checkIn: plainDay, updatedAt: plainTime,
		xlsx: []string{"n:5", "s:5", "s:" + strings.Repeat("가", 32_767), "s:@x", "s:1234567890123456.78", plainXLSX, plainXTime},
		csv:  `5,"5","` + ga40000 + `","'@x",1234567890123456.78,` + plainCSV, lost: []lost{{sheet.Cut, "Memo", false}, {sheet.DigitsAsText, "Amount", false}}},
	{id: 6, code: "6", memo: "=1+1", phone: "-2+3", amountMinor: 0, checkIn: "0000-00-00", updatedAt: "0000-00-00 00:00:00",
		xlsx: []string{"n:6", "s:6", "s:=1+1", "s:-2+3", "n:0", "", ""},
		csv:  `6,"6","'=1+1","'-2+3",0.00,,`, lost: []lost{{sheet.ZeroDate, "Check-in", true}, {sheet.ZeroDate, "Updated at", true}}},
	{id: 7, code: "7", memo: "a\r\nb", phone: "\t1", checkIn: "1899-12-31", updatedAt: plainTime,
		xlsx: []string{"n:7", "s:7", "s:a\nb", "s:\t1", "", "s:1899-12-31", plainXTime},
		csv:  "7,\"7\",\"a\r\nb\",\"'\t1\",,1899-12-31,2024-01-01T09:00:00+09:00", lost: []lost{{sheet.DateAsText, "Check-in", false}}},
	{id: 8, code: "8", memo: " x ", phone: "\r1", checkIn: "1900-02-28", updatedAt: plainTime,
		xlsx: []string{"n:8", "s:8", "s: x ", "s:\n1", "", "d:1900-02-28 00:00:00", plainXTime},
		csv:  "8,\"8\",\" x \",\"'\r1\",,1900-02-28,2024-01-01T09:00:00+09:00"},
	{id: 352776136104522888, code: "000000000000000009", memo: "김민준 🙂", checkIn: "1900-03-01", updatedAt: plainTime,
		xlsx: []string{"s:352776136104522888", "s:000000000000000009", "s:김민준 🙂", "", "", "d:1900-03-01 00:00:00", plainXTime},
		csv:  `352776136104522888,"000000000000000009","김민준 🙂",,,1900-03-01,2024-01-01T09:00:00+09:00`, lost: []lost{{sheet.DigitsAsText, "ID", false}}},
}

// notUTF8 is a row that only an engine that does not check its text can hold.
var notUTF8 = oddRow{id: 352776136104522889, code: "\xED\xA0\x80", memo: "x\xff", checkIn: plainDay, updatedAt: plainTime,
	xlsx: []string{"s:352776136104522889", "s:\uFFFD\uFFFD\uFFFD", "s:x\uFFFD", "", "", plainXLSX, plainXTime},
	csv:  "352776136104522889,\"\uFFFD\uFFFD\uFFFD\",\"x\uFFFD\",,," + plainCSV,
	lost: []lost{{sheet.DigitsAsText, "ID", false}, {sheet.Replaced, "Reservation", true}, {sheet.Replaced, "Memo", true}}}

// Rows that broke other exports go the whole way, from SQL through the API into a
// file, and are read back by another program; what could not be kept is counted.
func TestOddRowsTravelFromSQLToEitherFile(t *testing.T) {
	t.Run("mysql", func(t *testing.T) {
		a, c := boot(t, 0, nil)
		insertOdd(t, "mysql", a.cfg.MySQLDSN, oddRows)
		oddFiles(t, c, oddRows)
	})
	t.Run("embedded", func(t *testing.T) {
		a, c := boot(t, 0, func(cfg *config.Config) { cfg.MySQLDSN, cfg.RedisURL = "", "" })
		rows := append(slices.Clone(oddRows), notUTF8)
		insertOdd(t, "sqlite", filepath.Join(a.cfg.DataDir, "rowmill.sqlite"), rows)
		oddFiles(t, c, rows)
	})
}

func insertOdd(t *testing.T, driver, dsn string, rows []oddRow) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // the mode is a connection's
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if driver == "mysql" {
		exec("SET SESSION sql_mode = ''") // it takes 0000-00-00, as servers of older days did
	}
	for _, r := range rows {
		exec("INSERT INTO reservations (id, code, property_id, product_id, channel_id, status, status_date, booked_on, check_in, check_out, nights, memo, updated_at) "+
			"VALUES (?, ?, 1, 1, 1, 'Check-Out', '2024-01-01', '2024-01-01', ?, '2024-01-01', 1, ?, ?)", r.id, r.code, r.checkIn, r.memo, r.updatedAt)
		if r.phone != nil {
			exec("INSERT INTO guests VALUES (?, 'x', ?, '', NULL, 1, NULL, 0, '', 0, 0, 0)", r.id, r.phone)
		}
		if r.amountMinor != nil {
			exec("INSERT INTO payments VALUES (?, ?, 0, 'EUR', '', '', NULL)", r.id, r.amountMinor)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func oddFiles(t *testing.T, c *exportclient.Client, rows []oddRow) {
	t.Helper()
	order := exportclient.Order{Columns: oddColumns, Sort: "id", TimeZone: "Asia/Seoul", Personal: true, Reason: "every odd cell"}
	path, receipt := fetchOdd(t, c, order, sheet.XLSX)
	if diff := cmp.Diff(oddLosses(rows, sheet.XLSX), receipt.Losses); diff != "" {
		t.Errorf("losses of the xlsx file (-want +got):\n%s", diff)
	}
	oddXLSX(t, path, rows)

	path, receipt = fetchOdd(t, c, order, sheet.CSV)
	if diff := cmp.Diff(oddLosses(rows, sheet.CSV), receipt.Losses); diff != "" {
		t.Errorf("losses of the csv file (-want +got):\n%s", diff)
	}
	want := "\uFEFF\"ID\",\"Reservation\",\"Memo\",\"Phone\",\"Amount\",\"Check-in\",\"Updated at\"\r\n"
	for _, r := range rows {
		want += r.csv + "\r\n"
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(want, "\r\n"), strings.Split(string(got), "\r\n")); diff != "" {
		t.Errorf("the csv file (-want +got):\n%.3000s", diff)
	}
}

func fetchOdd(t *testing.T, c *exportclient.Client, o exportclient.Order, format sheet.Format) (string, export.Receipt) {
	t.Helper()
	o.Format = string(format)
	job, err := c.Submit(t.Context(), o, o.Format)
	if err != nil {
		t.Fatal(err)
	}
	job = awaitJob(t, c, job.ID, ended)
	if job.Status != export.Succeeded {
		t.Fatalf("the job is %s: %+v", job.Status, job.Failure)
	}
	path := filepath.Join(t.TempDir(), "odd."+o.Format)
	if err := c.Download(t.Context(), job, path); err != nil {
		t.Fatal(err)
	}
	return path, *job.Receipt
}

func oddLosses(rows []oddRow, format sheet.Format) (l sheet.Losses) {
	for i, r := range rows {
		for _, x := range r.lost {
			if format == sheet.XLSX || x.csvToo {
				l.Add(sheet.Loss{Kind: x.kind, Sheet: 1, Row: i + 2, Column: x.column, Key: r.id})
			}
		}
	}
	return l
}

// oddXLSX reads the file with openpyxl: its rows, and that its last sheet lists
// each place in words.
func oddXLSX(t *testing.T, path string, rows []oddRow) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/cells.py", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("openpyxl: %v\n%s", err, stderr.String())
	}
	var sheets map[string][][]*string
	if err := json.Unmarshal(out, &sheets); err != nil {
		t.Fatal(err)
	}
	told := map[string][][]string{}
	for name, rows := range sheets {
		for _, row := range rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				if cell != nil {
					cells[i] = *cell
				}
			}
			told[name] = append(told[name], cells)
		}
	}
	want := [][]string{oddHead}
	for _, r := range rows {
		want = append(want, r.xlsx)
	}
	if diff := cmp.Diff(want, told["Reservations"]); diff != "" {
		t.Errorf("the xlsx file (-want +got):\n%.3000s", diff)
	}
	info := told["Export info"]
	for _, place := range [][]string{
		{"s:Reservations", "n:4", "s:Memo", "s:characters replaced"}, {"s:Reservations", "n:6", "s:Memo", "s:text cut"}, {"s:Reservations", "n:7", "s:Check-in", "s:zero date left empty"},
	} {
		if !slices.ContainsFunc(info, func(row []string) bool { return slices.Equal(row[:min(len(row), len(place))], place) }) {
			t.Errorf("the info sheet does not list %v:\n%v", place, info)
		}
	}
}
