package gateway

import (
	"encoding/json"
	"strconv"
	"time"

	"rowmill/internal/table"
	"rowmill/reservation"
)

// appendRows writes rows as a JSON array of objects.
func appendRows(b []byte, rows []table.Row, fields []reservation.Field) []byte {
	b = append(b, '[')
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendRow(b, row, fields)
	}
	return append(b, ']')
}

// appendRow writes a row as a JSON object: its id, which every client needs,
// then the asked fields.
func appendRow(b []byte, row table.Row, fields []reservation.Field) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, row.Key, 10)
	for i, f := range fields {
		if f.Key == "id" {
			continue
		}
		b = append(b, `,"`...)
		b = append(b, f.Key...) // the catalog's keys need no escape
		b = append(b, `":`...)
		b = appendValue(b, row.Values[i])
	}
	return append(b, '}')
}

// appendValue writes a value. Integers are numbers with all their digits;
// decimals are texts, for a JSON number is a double to most readers and would
// lose digits and scale; days and instants are ISO 8601; a zero date is null.
func appendValue(b []byte, v table.Value) []byte {
	switch v.Kind() {
	case table.KindText:
		return appendText(b, v.Text())
	case table.KindInteger:
		return strconv.AppendInt(b, v.Integer(), 10)
	case table.KindDecimal:
		return append(v.AppendDecimal(append(b, '"')), '"')
	case table.KindDate:
		return append(v.AppendDate(append(b, '"')), '"')
	case table.KindTime:
		return append(v.AsTime().AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
	case table.KindBool:
		return strconv.AppendBool(b, v.Bool())
	}
	return append(b, "null"...)
}

// appendText writes a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				return append(b, "null"...) // no string fails to marshal
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
