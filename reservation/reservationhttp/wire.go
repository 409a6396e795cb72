// Package reservationhttp is the internal reservation API: its server, its
// client, and the wire forms that both speak: JSON, and a compact form for pages
// of rows. The server owns no data: it checks, asks a reservation.Store and streams
// the answer. The client owns the retries, and promises that what it gives is
// whole: every asked id is in the answer once, in order, or the call fails.
//
// The API is not public. It has a listener and a service token of its own.
package reservationhttp

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-faster/jx"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// The API's paths. Once published they keep their meaning.
const (
	pathSnapshot = "/internal/v1/reservations/snapshot"
	pathBatch    = "/internal/v1/reservations/batch-get"
	pathList     = "/internal/v1/reservations/list"
	pathFields   = "/internal/v1/reservations/fields"
	pathLive     = "/livez"
)

const (
	typeJSON = "application/json"

	headerTiming    = "Server-Timing"
	headerRequestID = "X-Request-Id"
)

// maxRequest is the most bytes of a request's body: 5,000 ids of 20 digits are
// 105 kB, and the rest is room for long filters.
const maxRequest = 1 << 20

// queryRequest is which rows and in which order, as it travels.
type queryRequest struct {
	scopeRequest
	filter      map[string][]string
	sort, order string
}

type batchRequest struct {
	scopeRequest
	ids    []int64
	fields []string
}

type listRequest struct {
	queryRequest
	offset    int64
	after     *int64
	limit     int
	fields    []string
	withTotal bool
}

func queryOf(q reservation.Query) queryRequest {
	r := queryRequest{scopeRequest: scopeRequest{q.Scope}, filter: q.Filter.Params(), sort: q.Sort.Field, order: "asc"}
	if q.Sort.Desc {
		r.order = "desc"
	}
	return r
}

// query reads the request, or names everything that is wrong with it.
func (r queryRequest) query() (reservation.Query, error) {
	filter, filterErr := reservation.ParseFilter(r.filter)
	sort, sortErr := reservation.ParseSort(r.sort, r.order)
	if f, ok := fault.As(filterErr); ok { // both are told at once
		if s, ok := fault.As(sortErr); ok {
			return reservation.Query{}, fault.InvalidFields("The filter and the sort are not valid.", slices.Concat(f.Fields, s.Fields)...)
		}
	}
	return reservation.Query{Filter: filter, Sort: sort, Scope: r.scope}, cmp.Or(filterErr, sortErr)
}

func (r queryRequest) append(w *jx.Writer) {
	w.FieldStart("filter")
	w.ObjStart()
	for i, name := range slices.Sorted(maps.Keys(r.filter)) {
		if i > 0 {
			w.Comma()
		}
		w.FieldStart(name)
		appendList(w, r.filter[name], w.Str)
	}
	w.ObjEnd()
	w.Comma()
	w.FieldStart("sort")
	w.Str(r.sort)
	w.Comma()
	w.FieldStart("order")
	w.Str(r.order)
	w.Comma()
	r.scopeRequest.append(w)
}

func (r queryRequest) encode() []byte {
	var w jx.Writer
	w.ObjStart()
	r.append(&w)
	w.ObjEnd()
	return w.Buf
}

func (r batchRequest) encode() []byte {
	var w jx.Writer
	w.Grow(len(r.ids)*9 + 512)
	w.ObjStart()
	w.FieldStart("ids")
	appendList(&w, r.ids, w.Int64)
	w.Comma()
	w.FieldStart("fields")
	appendList(&w, r.fields, w.Str)
	w.Comma()
	r.scopeRequest.append(&w)
	w.ObjEnd()
	return w.Buf
}

func (r listRequest) encode() []byte {
	var w jx.Writer
	w.ObjStart()
	r.append(&w)
	w.Comma()
	if r.after != nil {
		w.FieldStart("after")
		w.Int64(*r.after)
		w.Comma()
	}
	w.FieldStart("offset")
	w.Int64(r.offset)
	w.Comma()
	w.FieldStart("limit")
	w.Int(r.limit)
	w.Comma()
	w.FieldStart("fields")
	appendList(&w, r.fields, w.Str)
	w.Comma()
	w.FieldStart("total")
	w.Bool(r.withTotal)
	w.ObjEnd()
	return w.Buf
}

// appendList writes an array whose items are written by one, a method of w.
func appendList[T any](w *jx.Writer, items []T, one func(T) bool) {
	w.ArrStart()
	for i, item := range items {
		if i > 0 {
			w.Comma()
		}
		one(item)
	}
	w.ArrEnd()
}

// statementsHeader gives the Server-Timing value that says what an answer cost.
func statementsHeader(n int64) string {
	return fmt.Sprintf(`db;desc="%d statements"`, n)
}

// parseStatements reads what statementsHeader wrote; 0 if it is not there.
func parseStatements(header string) int64 {
	_, rest, _ := strings.Cut(header, `db;desc="`)
	digits, _, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// fieldKeys gives the fields' keys.
func fieldKeys(fields []reservation.Field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.Key
	}
	return keys
}

// kindOfName gives the fault kind with the stable name.
var kindOfName = func() map[string]fault.Kind {
	m := map[string]fault.Kind{}
	for k := fault.Internal; k <= fault.Overloaded; k++ {
		m[k.String()] = k
	}
	return m
}()
