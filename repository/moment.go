package repository

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// Days and times are bound as text of a fixed width in UTC: MySQL reads it as
// its own, and in SQLite, which keeps it, it sorts as time does.
const (
	dayLayout    = time.DateOnly
	momentLayout = "2006-01-02 15:04:05.000000"
)

// moment is a time in a column; the zero moment is NULL.
type moment struct{ time.Time }

// Value binds the moment.
func (m moment) Value() (driver.Value, error) {
	if m.IsZero() {
		return nil, nil
	}
	return m.UTC().Format(momentLayout), nil
}

// Scan reads the moment.
func (m *moment) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		m.Time = time.Time{}
	case time.Time:
		m.Time = v.UTC()
	case string: // SQLite's, of an expression
		t, err := time.Parse(momentLayout, v)
		if err != nil {
			return err
		}
		m.Time = t
	case []byte: // MySQL's, of an expression
		return m.Scan(string(v))
	default:
		return fmt.Errorf("scan a time from %T", src)
	}
	return nil
}
