package bench

import (
	"database/sql/driver"
	"strconv"
	"time"
)

// weighed are rows whose bytes are counted as they are read: what MySQL's text
// protocol takes for them, whatever the engine, so that both can be compared. The
// names of columns and the ends of results are not counted.
type weighed struct {
	driver.Rows
	line *line
}

// Of MySQL's protocol: the header of a packet, and the length before a short value.
const (
	rowHeader   = 4
	valueHeader = 1
)

func (w weighed) Next(row []driver.Value) error {
	if err := w.Rows.Next(row); err != nil {
		return err
	}
	n := rowHeader
	for _, value := range row {
		n += valueHeader + weight(value)
	}
	w.line.received.Add(int64(n))
	return nil
}

// weight gives the length of a value as text; NULL has none.
func weight(value driver.Value) int {
	switch v := value.(type) {
	case []byte:
		return len(v)
	case string:
		return len(v)
	case int64:
		return len(strconv.FormatInt(v, 10))
	case float64:
		return len(strconv.FormatFloat(v, 'g', -1, 64))
	case bool:
		return 1
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return len(time.DateOnly)
		}
		return len("2006-01-02 15:04:05.000000")
	}
	return 0
}
