package sheet_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

func TestInfoSheet(t *testing.T) {
	var losses sheet.Losses
	losses.Add(sheet.Loss{Kind: sheet.Cut, Sheet: 1, Row: 7, Column: "메모", Key: 6})
	losses.Add(sheet.Loss{Kind: sheet.Replaced, Sheet: 1, Row: 9, Column: "메모", Key: 8})
	losses.Add(sheet.Loss{Kind: sheet.Cut, Sheet: 1, Row: 11, Column: "메모", Key: 10})
	info := sheet.Info{
		Title: "예약", // as the data sheet's: it gets a number
		Lines: []sheet.InfoLine{
			{Label: "요청자", Value: table.TextOf("=kim@example.com")},
			{Label: "스냅샷", Value: table.TimeOf(time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC))},
			{Label: "행", Value: table.IntegerOf(1_234_567)},
			{Label: "필터", Value: table.Null()},
			{Label: "전체", Value: table.BoolOf(true)},
			{Label: "첫날", Value: table.DateOf(0)},
		},
		LossTitles: [4]string{"시트", "행", "열", "내용"},
		LossNames:  map[sheet.LossKind]string{sheet.Cut: "잘림"},
		Losses:     losses,
	}
	var out bytes.Buffer
	e, err := sheet.New(&out, sheet.Spec{Format: sheet.XLSX, Name: "예약", Columns: oneColumn, Location: seoul(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(info); err != nil {
		t.Fatal(err)
	}
	sheets := readWorkbook(t, out.Bytes())
	last := sheets[len(sheets)-1]
	var got []string
	for _, c := range last.Cells {
		got = append(got, fmt.Sprintf("%s %s %v %s %t", c.Ref, c.Type, c.Value, c.Format, c.Bold))
	}
	want := []string{
		"A1 s 요청자 General true", "B1 s =kim@example.com General false",
		"A2 s 스냅샷 General true", "B2 d 2026-12-01T00:00:00 yyyy-mm-dd hh:mm:ss false",
		"A3 s 행 General true", "B3 n 1.234567e+06 0 false",
		"A4 s 필터 General true",
		"A5 s 전체 General true", "B5 b true General false",
		"A6 s 첫날 General true", "B6 d 1970-01-01T00:00:00 yyyy-mm-dd false",
		"A7 s replaced General true", "B7 n 1 0 false",
		"A8 s 잘림 General true", "B8 n 2 0 false",
		"A10 s 시트 General true", "B10 s 행 General true", "C10 s 열 General true", "D10 s 내용 General true",
		"A11 s 예약 General false", "B11 n 7 0 false", "C11 s 메모 General false", "D11 s 잘림 General false",
		"A12 s 예약 General false", "B12 n 9 0 false", "C12 s 메모 General false", "D12 s replaced General false",
		"A13 s 예약 General false", "B13 n 11 0 false", "C13 s 메모 General false", "D13 s 잘림 General false",
	}
	if diff := cmp.Diff(want, got); diff != "" || last.Name != "예약 (2)" {
		t.Errorf("sheet %q (-want +got):\n%s", last.Name, diff)
	}
	verify(t, sheet.XLSX, out.Bytes())
}

func TestLossesListTheFirstPlacesAndCountAll(t *testing.T) {
	var all sheet.Losses
	for i := range 3 {
		var l sheet.Losses
		for j := range 700 {
			l.Add(sheet.Loss{Kind: sheet.Cut, Row: i*700 + j})
		}
		all.Merge(l)
	}
	if all.Counts[sheet.Cut] != 2100 || len(all.Places) != sheet.MaxLossPlaces || all.Places[999].Row != 999 {
		t.Errorf("%d counted, %d listed, the last is row %d", all.Counts[sheet.Cut], len(all.Places), all.Places[len(all.Places)-1].Row)
	}
}
