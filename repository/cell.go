package repository

import (
	"fmt"
	"strconv"
	"time"

	"rowmill/internal/table"
)

const secondsPerDay = 24 * 60 * 60

// cell scans one column straight into a value of the field's type, whatever
// form the driver gives it in. It is used for every row of a result.
type cell struct {
	typ   table.Type
	scale uint8
	value table.Value
	last  string // the text before: columns repeat themselves, and a text kept is one allocation less
}

// Scan implements sql.Scanner.
func (c *cell) Scan(src any) error {
	var ok bool
	switch v := src.(type) {
	case nil:
		c.value, ok = table.Null(), true
	case []byte:
		c.value, ok = c.text(v)
	case string:
		c.value, ok = c.text([]byte(v))
	case int64:
		c.value, ok = c.number(v)
	case float64:
		if n := int64(v); float64(n) == v {
			c.value, ok = c.number(n)
		}
	case bool:
		if v {
			c.value, ok = c.number(1)
		} else {
			c.value, ok = c.number(0)
		}
	case time.Time:
		c.value, ok = c.time(v)
	}
	if !ok {
		return fmt.Errorf("a column of type %s holds a %T that is none", c.typ, src)
	}
	return nil
}

func (c *cell) text(b []byte) (table.Value, bool) {
	switch c.typ {
	case table.Text, table.Code:
		if string(b) != c.last {
			c.last = string(b)
		}
		return table.TextOf(c.last), true
	case table.Integer, table.Decimal, table.Bool:
		n, err := strconv.ParseInt(string(b), 10, 64)
		if err != nil {
			return table.Value{}, false
		}
		return c.number(n)
	}
	return c.textTime(string(b))
}

// textTime reads a day or time that the driver left as text: SQLite's, of an
// unknown form, among them the zero date.
func (c *cell) textTime(s string) (table.Value, bool) {
	if s == "0000-00-00" || s == "0000-00-00 00:00:00" || s == "0000-00-00 00:00:00.000000" {
		return table.ZeroDate(), true
	}
	for _, layout := range []string{momentLayout, dayLayout} {
		if t, err := time.Parse(layout, s); err == nil {
			return c.time(t)
		}
	}
	return table.Value{}, false
}

func (c *cell) number(n int64) (table.Value, bool) {
	switch c.typ {
	case table.Integer:
		return table.IntegerOf(n), true
	case table.Decimal:
		return table.DecimalOf(n, c.scale), true
	case table.Bool:
		return table.BoolOf(n != 0), true
	case table.Text, table.Code: // SQLite keeps what it was given
		return table.TextOf(strconv.FormatInt(n, 10)), true
	}
	return table.Value{}, false
}

func (c *cell) time(t time.Time) (table.Value, bool) {
	switch {
	case c.typ != table.Date && c.typ != table.Time:
		return table.Value{}, false
	case t.IsZero(): // the driver's form of 0000-00-00
		return table.ZeroDate(), true
	case c.typ == table.Time:
		return table.TimeOf(t), true
	}
	days := t.Unix() / secondsPerDay
	if t.Unix()%secondsPerDay < 0 {
		days--
	}
	return table.DateOf(days), true
}

// key scans an id that may be NULL.
type key struct {
	id    int64
	valid bool
}

// Scan implements sql.Scanner.
func (k *key) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*k = key{}
		return nil
	case int64:
		*k = key{id: v, valid: true}
		return nil
	case []byte:
		n, err := strconv.ParseInt(string(v), 10, 64)
		*k = key{id: n, valid: err == nil}
		return err
	}
	return fmt.Errorf("an id column holds a %T", src)
}
