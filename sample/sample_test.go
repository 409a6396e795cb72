package sample_test

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"testing"

	"rowmill/sample"
)

func TestHotelBookings(t *testing.T) {
	for range 2 { // each call starts at the beginning
		unzipped, err := gzip.NewReader(sample.HotelBookings())
		if err != nil {
			t.Fatal(err)
		}
		records := csv.NewReader(unzipped)
		records.ReuseRecord = true
		header, err := records.Read()
		if err != nil || len(header) != 32 || header[0] != "hotel" || header[31] != "reservation_status_date" {
			t.Fatalf("header %q, %v", header, err)
		}
		rows := 0
		for ; err == nil; rows++ {
			_, err = records.Read()
		}
		if rows--; !errors.Is(err, io.EOF) || rows != sample.Rows {
			t.Errorf("%d rows, %v", rows, err)
		}
	}
}
