package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"rowmill/internal/table"
)

// clock is where the reader's times are.
type clock struct{ location *time.Location }

// Zone names the reader's time zone.
func (c clock) Zone() string { return c.location.String() }

// Date gives a day as the language writes it.
func (s speech) Date(t time.Time) string {
	if s.Lang == "ko" {
		return t.Format("2006. 1. 2.")
	}
	return t.Format("2 Jan 2006")
}

// At gives an instant by the reader's clock, to the minute; nothing if it is zero.
func (s speech) At(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(s.location)
	return s.Date(t) + t.Format(" 15:04")
}

// Machine gives an instant as programs read it.
func (s speech) Machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Number gives n in groups of three.
func (s speech) Number(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

// grouped puts commas into a number's whole part; both languages write it so.
func grouped(number string) string {
	whole, fraction, point := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if point {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// Size gives bytes in the unit that has at most three digits before the point.
func (s speech) Size(bytes int64) string {
	size, unit := float64(bytes), 0
	units := []string{"B", "kB", "MB", "GB", "TB"}
	for size >= 1000 && unit < len(units)-1 {
		size /= 1000
		unit++
	}
	if unit == 0 || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[unit])
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// Lasted gives a duration in its two largest units.
func (s speech) Lasted(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return s.T("duration.seconds", strconv.FormatFloat(d.Seconds(), 'f', 1, 64))
	case d < time.Minute:
		return s.T("duration.seconds", strconv.Itoa(int(d.Seconds())))
	case d < time.Hour:
		return s.T("duration.minutes", int(d.Minutes()), int(d.Seconds())%60)
	}
	return s.T("duration.hours", int(d.Hours()), int(d.Minutes())%60)
}

// cell is a value as it is shown.
type cell struct {
	Text    string
	Machine string // of a day or an instant
	Null    bool
	Number  bool // stands to the right
	Masked  bool
	Status  bool // a reservation's status, which has a sign
	Raw     string
}

func (s speech) cell(v table.Value) cell {
	switch v.Kind() {
	case table.KindText:
		return cell{Text: strings.ToValidUTF8(v.Text(), "\uFFFD")}
	case table.KindInteger:
		return cell{Text: s.Number(v.Integer()), Number: true}
	case table.KindDecimal:
		return cell{Text: grouped(string(v.AppendDecimal(nil))), Number: true}
	case table.KindDate:
		return cell{Text: s.Date(v.AsTime()), Machine: string(v.AppendDate(nil))}
	case table.KindTime:
		return cell{Text: s.At(v.AsTime()), Machine: s.Machine(v.AsTime())}
	case table.KindBool:
		if v.Bool() {
			return cell{Text: s.T("yes")}
		}
		return cell{Text: s.T("no")}
	}
	return cell{Null: true}
}
