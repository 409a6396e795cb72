package reservationhttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-faster/jx"
	"github.com/labstack/echo/v4"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// snapshot streams the ids that match, as they are read. The total comes last:
// it is the mark that the stream is whole.
func (s *server) snapshot(c echo.Context) error {
	var r queryRequest
	if err := bind(c, r.members()); err != nil {
		return err
	}
	q, err := r.checked()
	if err != nil {
		return err
	}
	a := s.begin(c)
	defer a.free()
	snapshot, err := s.streamIDs(a, q)
	if err != nil {
		return err
	}
	a.RawStr(`],"at":"`)
	a.Buf = snapshot.At.UTC().AppendFormat(a.Buf, time.RFC3339Nano)
	a.RawStr(`","statements":`)
	a.Int64(statementsOf(c))
	a.RawStr(`,"total":`)
	a.Int64(snapshot.Total)
	a.ObjEnd()
	return a.finish()
}

func (s *server) streamIDs(a *answer, q reservation.Query) (reservation.Snapshot, error) {
	a.RawStr(`{"ids":[`)
	first := true
	return s.store.Snapshot(a.c.Request().Context(), q, func(ids []int64) error {
		for _, id := range ids {
			if !first {
				a.Comma()
			}
			first = false
			a.Int64(id)
			if err := a.piece(); err != nil {
				return err
			}
		}
		return nil
	})
}

// batch gives the rows of the asked ids.
func (s *server) batch(c echo.Context) error {
	var r batchRequest
	if err := bind(c, r.members()); err != nil {
		return err
	}
	if len(r.ids) == 0 {
		return fault.InvalidFields("The request is not valid.", fault.Field{Name: "ids", Detail: "name at least one id"})
	}
	fields, err := reservation.FieldsOf(r.fields)
	if err != nil {
		return err
	}
	batch, err := s.store.Batch(c.Request().Context(), r.scope, r.ids, fields)
	if err != nil {
		return err
	}
	r.mask(fields, batch.Rows)
	if strings.Contains(c.Request().Header.Get("Accept"), typeRows) {
		return s.sendCompact(c, fields, batch)
	}
	return s.sendRows(c, fields, batch.Rows, "absent", func(w *jx.Writer) { appendList(w, batch.Absent, w.Int64) })
}

// list gives a page of the list.
func (s *server) list(c echo.Context) error {
	var r listRequest
	if err := bind(c, r.members()); err != nil {
		return err
	}
	q, window, fields, err := r.asked()
	if err != nil {
		return err
	}
	list, err := s.store.List(c.Request().Context(), q, window, fields, r.withTotal)
	if err != nil {
		return err
	}
	r.mask(fields, list.Rows)
	return s.sendRows(c, fields, list.Rows, "total", func(w *jx.Writer) {
		if list.Total < 0 {
			w.Null()
		} else {
			w.Int64(list.Total)
		}
	})
}

// sendRows answers with rows, and then with the member last, which value writes.
func (s *server) sendRows(c echo.Context, fields []reservation.Field, rows []table.Row, last string, value func(*jx.Writer)) error {
	c.Response().Header().Set(headerTiming, statementsHeader(statementsOf(c)))
	a := s.begin(c)
	defer a.free()
	a.ObjStart()
	if err := a.rows(fields, rows); err != nil {
		return err
	}
	a.Comma()
	a.FieldStart(last)
	value(a.Writer)
	a.ObjEnd()
	return a.finish()
}

// sendCompact answers with a batch in its compact form.
func (s *server) sendCompact(c echo.Context, fields []reservation.Field, batch reservation.Batch) (err error) {
	a := s.begin(c)
	defer a.free()
	if a.Buf, err = appendCompact(a.Buf, fields, batch); err != nil {
		return err
	}
	head := c.Response().Header()
	head.Set(headerTiming, statementsHeader(statementsOf(c)))
	head.Set(echo.HeaderContentType, typeRows)
	head.Set(echo.HeaderContentLength, strconv.Itoa(len(a.Buf)))
	return a.finish()
}

// fieldEntry is a field of the catalog, as it travels.
type fieldEntry struct {
	Key       string            `json:"key"`
	Type      string            `json:"type"`
	Scale     uint8             `json:"scale"`
	Titles    map[string]string `json:"titles"`
	Width     float64           `json:"width"`
	Format    string            `json:"format"`
	Part      reservation.Part  `json:"part"`
	Sort      bool              `json:"sort"`
	Prefix    bool              `json:"prefix"`
	Operators []reservation.Op  `json:"operators"`
}

// fields gives the catalog.
func (s *server) fields(c echo.Context) error {
	catalog := reservation.Fields()
	entries := make([]fieldEntry, len(catalog))
	for i, f := range catalog {
		entries[i] = fieldEntry{
			Key: f.Key, Type: f.Type.String(), Scale: f.Scale, Titles: titlesOf(f), Width: f.Width, Format: f.Format,
			Part: f.Part, Sort: f.Sort, Prefix: f.Prefix, Operators: f.Operators(),
		}
	}
	return c.JSON(http.StatusOK, map[string]any{"fields": entries, "defaults": reservation.DefaultFields()})
}

func titlesOf(f reservation.Field) map[string]string {
	return map[string]string{"ko": f.Titles.Korean, "en": f.Titles.English}
}
