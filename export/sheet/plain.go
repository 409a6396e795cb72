package sheet

import (
	"strconv"
	"time"

	"rowmill/internal/table"
)

// appendPlain appends what v is in plain text; nothing for NULL and the zero date.
func appendPlain(b []byte, v table.Value, loc *time.Location) []byte {
	switch v.Kind() {
	case table.KindText:
		return append(b, v.Text()...)
	case table.KindInteger:
		return strconv.AppendInt(b, v.Integer(), 10)
	case table.KindDecimal:
		return v.AppendDecimal(b)
	case table.KindDate:
		return v.AppendDate(b)
	case table.KindTime:
		return appendTime(b, v.UnixMicro(), loc)
	case table.KindBool:
		if v.Bool() {
			return append(b, "TRUE"...)
		}
		return append(b, "FALSE"...)
	}
	return b
}
