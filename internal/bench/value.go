package bench

import (
	"fmt"
	"strconv"
	"time"

	"rowmill/internal/table"
	"rowmill/reservation"
)

const secondsPerDay = 24 * 60 * 60

// valueOf makes what a driver gave the field's value.
func valueOf(f reservation.Field, src any) (table.Value, error) {
	if src == nil {
		return table.Null(), nil
	}
	switch f.Type {
	case table.Text, table.Code:
		switch v := src.(type) {
		case string:
			return table.TextOf(v), nil
		case []byte:
			return table.TextOf(string(v)), nil
		}
	case table.Date, table.Time:
		if t, ok := src.(time.Time); ok && f.Type == table.Time {
			return table.TimeOf(t), nil
		} else if ok {
			return table.DateOf(t.Unix() / secondsPerDay), nil // midnights divide evenly
		}
	default:
		n, err := wholeNumber(src)
		if err != nil {
			return table.Value{}, fmt.Errorf("field %s: %w", f.Key, err)
		}
		switch f.Type {
		case table.Decimal:
			return table.DecimalOf(n, f.Scale), nil
		case table.Bool:
			return table.BoolOf(n != 0), nil
		}
		return table.IntegerOf(n), nil
	}
	return table.Value{}, fmt.Errorf("field %s of type %s came as a %T", f.Key, f.Type, src)
}

func wholeNumber(src any) (int64, error) {
	switch v := src.(type) {
	case int64:
		return v, nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case []byte:
		return strconv.ParseInt(string(v), 10, 64)
	}
	return 0, fmt.Errorf("a %T is no whole number", src)
}
