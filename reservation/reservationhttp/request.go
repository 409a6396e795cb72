package reservationhttp

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-faster/jx"
	"github.com/labstack/echo/v4"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// member is a member that a request may have: what it is, and its reader.
type member struct {
	what string
	read func(d *jx.Decoder) error
}

type members map[string]member

var bodies = sync.Pool{New: func() any { return new([]byte) }}

// bind reads a request's body, an object with no members but m's. It names
// every member that is wrong.
func bind(c echo.Context, m members) error {
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	body, err := readAll(c.Request().Body, (*buf)[:0])
	*buf = body
	if err != nil {
		return bodyFailure(err)
	}
	return decodeObject(body, m)
}

// bodyFailure tells a body that is too large from one that broke off.
func bodyFailure(err error) error {
	if _, limited := errors.AsType[*echo.HTTPError](err); limited {
		return err
	}
	return fault.Wrap(err, fault.Invalid, "The request's body broke off.")
}

func readAll(r io.Reader, buf []byte) ([]byte, error) {
	for {
		buf = slices.Grow(buf, 4<<10)
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}

func decodeObject(body []byte, m members) error {
	var wrong []fault.Field
	seen := make(map[string]bool, len(m))
	d := jx.DecodeBytes(body)
	err := d.Obj(func(d *jx.Decoder, name string) error {
		known, ok := m[name]
		switch {
		case !ok:
			wrong = append(wrong, fault.Field{Name: shown(name), Detail: "is no member of this request; these are: " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")})
			return d.Skip()
		case seen[name]:
			wrong = append(wrong, fault.Field{Name: name, Detail: "is given twice"})
			return d.Skip()
		}
		seen[name] = true
		raw, err := d.Raw()
		if err != nil {
			return err
		}
		inner := jx.DecodeBytes(raw)
		if err := known.read(inner); err != nil || expectEnd(inner) != nil {
			wrong = append(wrong, fault.Field{Name: name, Detail: "is not " + known.what})
		}
		return nil
	})
	if err == nil {
		err = expectEnd(d)
	}
	if err != nil {
		wrong = append(wrong, fault.Field{Name: "body", Detail: "is not one JSON object"})
	}
	if len(wrong) > 0 {
		return fault.InvalidFields("The request is not valid.", wrong...)
	}
	return nil
}

// shown gives a caller's own word back, cut to a length that fits an answer.
func shown(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most]
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

func (r *queryRequest) members() members {
	m := members{
		"filter": {"an object of lists of texts", func(d *jx.Decoder) error {
			r.filter = map[string][]string{}
			return d.Obj(func(d *jx.Decoder, name string) error {
				values, err := readTexts(d)
				r.filter[name] = append(r.filter[name], values...)
				return err
			})
		}},
		"sort":  {"a text", textInto(&r.sort)},
		"order": {"a text", textInto(&r.order)},
	}
	r.addTo(m)
	return m
}

func (r *batchRequest) members() members {
	m := members{
		"ids": {fmt.Sprintf("a list of at most %d whole numbers", reservation.MaxBatch), func(d *jx.Decoder) (err error) {
			r.ids, err = readIDs(d, reservation.MaxBatch)
			return err
		}},
		"fields": {"a list of texts", textsInto(&r.fields)},
	}
	r.addTo(m)
	return m
}

func (r *listRequest) members() members {
	m := r.queryRequest.members()
	m["offset"] = member{"a whole number", func(d *jx.Decoder) (err error) {
		r.offset, err = d.Int64()
		return err
	}}
	m["after"] = member{"a whole number", func(d *jx.Decoder) error {
		id, err := d.Int64()
		r.after = &id
		return err
	}}
	m["limit"] = member{"a whole number", func(d *jx.Decoder) (err error) {
		r.limit, err = d.Int()
		return err
	}}
	m["fields"] = member{"a list of texts", textsInto(&r.fields)}
	m["total"] = member{"true or false", func(d *jx.Decoder) (err error) {
		r.withTotal, err = d.Bool()
		return err
	}}
	return m
}

// checked reads the query and holds it against its scope.
func (r queryRequest) checked() (reservation.Query, error) {
	q, err := r.query()
	if err == nil {
		err = q.Check()
	}
	return q, err
}

// asked reads which page of which list is asked for, and of which fields.
func (r *listRequest) asked() (q reservation.Query, w reservation.Window, fields []reservation.Field, err error) {
	if q, err = r.checked(); err != nil {
		return q, w, nil, err
	}
	if w, err = r.window(); err != nil {
		return q, w, nil, err
	}
	fields, err = reservation.FieldsOf(r.fields)
	return q, w, fields, err
}

func (r *listRequest) window() (reservation.Window, error) {
	var wrong []fault.Field
	if r.limit < 1 || r.limit > reservation.MaxListLimit {
		wrong = append(wrong, fault.Field{Name: "limit", Detail: fmt.Sprintf("is %d; 1 to %d is allowed", r.limit, reservation.MaxListLimit)})
	}
	if r.offset < 0 {
		wrong = append(wrong, fault.Field{Name: "offset", Detail: "is below 0"})
	}
	if r.after != nil && r.offset != 0 {
		wrong = append(wrong, fault.Field{Name: "after", Detail: "excludes offset: give one of the two"})
	}
	if len(wrong) > 0 {
		return reservation.Window{}, fault.InvalidFields("The window is not valid.", wrong...)
	}
	return reservation.Window{Offset: r.offset, After: r.after, Limit: r.limit}, nil
}

func textInto(to *string) func(d *jx.Decoder) error {
	return func(d *jx.Decoder) (err error) {
		*to, err = d.Str()
		return err
	}
}

func textsInto(to *[]string) func(d *jx.Decoder) error {
	return func(d *jx.Decoder) (err error) {
		*to, err = readTexts(d)
		return err
	}
}
