package reservationhttp

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

var sameRequest = cmp.AllowUnexported(listRequest{}, queryRequest{}, batchRequest{}, scopeRequest{})

// FuzzListRequest: a request that is taken is the same when it is sent again as the
// client sends it, and asks for the same page.
func FuzzListRequest(f *testing.F) {
	for _, body := range []string{
		`{"filter":{"status":["Canceled"]},"sort":"check_in","order":"desc","offset":0,"limit":100,"fields":["id"],"total":true}`,
		`{"after":7,"limit":5,"fields":["id","code"]}`, `{"limit":0}`, `{"offset":-1,"limit":1,"fields":[]}`, `{"after":1,"offset":1,"limit":1,"fields":["id"]}`, `{}`, `[]`, `{"limit":1}{}`, `{"limit":1,"limit":2}`,
		`{"properties":[7,-3],"personal":true,"limit":1,"fields":["guest_name"]}`, `{"properties":[],"limit":1,"fields":["id"]}`, `{"filter":{"q":["\ud800"]},"limit":1,"fields":["id"]}`, `{"filter":{"id":["1"],"id":["2"]},"limit":1,"fields":["id"]}`, `{"limit":1e3}`, `{"colour":"red"}`, `{"filter":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var first listRequest
		if err := decodeObject(body, first.members()); err != nil {
			refused(t, err)
			return
		}
		q, w, fields, err := first.asked()
		if err != nil {
			refused(t, err)
			return
		}
		if w.Limit < 1 || w.Limit > reservation.MaxListLimit || w.Offset < 0 || len(fields) == 0 {
			t.Fatalf("the window is %+v, of %d fields", w, len(fields))
		}
		sent := listRequest{queryRequest: queryOf(q), offset: w.Offset, after: w.After, limit: w.Limit, fields: fieldKeys(fields), withTotal: first.withTotal}
		var second listRequest
		if err := decodeObject(sent.encode(), second.members()); err != nil {
			t.Fatalf("the client's own form is refused: %s: %v", sent.encode(), err)
		}
		if diff := cmp.Diff(sent, second, sameRequest); diff != "" {
			t.Errorf("(-sent +read):\n%s", diff)
		}
		if again, _, _, err := second.asked(); err != nil || !cmp.Equal(q, again, sameValue) {
			t.Errorf("the query %+v became %+v, %v", q, again, err)
		}
	})
}

// FuzzBatchRequest: what is taken is within the bound and the same when sent again.
func FuzzBatchRequest(f *testing.F) {
	for _, body := range []string{`{"ids":[1,2,-3],"fields":["id"]}`, `{"ids":[],"fields":[]}`, `{"ids":[9223372036854775808]}`, `{"ids":[1.0]}`, `{"ids":[1,]}`, `{"fields":["\u0000"]}`, `{"ids":null}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var first, second batchRequest
		if err := decodeObject(body, first.members()); err != nil {
			refused(t, err)
			return
		}
		if len(first.ids) > reservation.MaxBatch {
			t.Fatalf("%d ids are taken", len(first.ids))
		}
		if err := decodeObject(first.encode(), second.members()); err != nil {
			t.Fatalf("the client's own form is refused: %s: %v", first.encode(), err)
		}
		for _, r := range []*batchRequest{&first, &second} { // none, said or not
			r.ids, r.fields = append([]int64{}, r.ids...), append([]string{}, r.fields...)
		}
		if diff := cmp.Diff(first, second, sameRequest); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}

// FuzzReadAnswer: an answer in either form, whoever sends it, is refused or is whole:
// never more rows than asked, each with its values, and the same when written again.
func FuzzReadAnswer(f *testing.F) {
	fields := typed()
	for seed := range uint64(8) {
		batch := reservation.Batch{Rows: randomRows(rand.New(rand.NewPCG(seed, 0)), fields, int(seed)), Absent: []int64{7, -5}}
		f.Add(encodeCompact(f, fields, batch), true)
		f.Add(append(append([]byte(`{"rows":`), encodeRows(f, fields, batch.Rows)...), `,"absent":[7]}`...), false)
	}
	f.Add([]byte("RMR1\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true)
	const most = 8
	f.Fuzz(func(t *testing.T, answer []byte, compact bool) {
		read := readBatch
		if compact {
			read = readCompact
		}
		first, err := read(bytes.NewReader(answer), fields, most)
		if err != nil {
			return
		}
		if len(first.Rows) > most || len(first.Absent) > most {
			t.Fatalf("%d rows and %d absent of %d", len(first.Rows), len(first.Absent), most)
		}
		for _, row := range first.Rows {
			if len(row.Values) != len(fields) {
				t.Fatalf("a row has %d values for %d fields", len(row.Values), len(fields))
			}
		}
		second, err := readCompact(bytes.NewReader(encodeCompact(t, fields, first)), fields, most)
		if err != nil {
			t.Fatalf("written again it is refused: %v", err)
		}
		if len(first.Rows)+len(second.Rows) > 0 {
			if diff := cmp.Diff(first.Rows, second.Rows, sameValue); diff != "" {
				t.Errorf("(-first +second):\n%s", diff)
			}
		}
	})
}

// refused fails unless the caller can read what was wrong.
func refused(t *testing.T, err error) {
	t.Helper()
	if e, ok := fault.As(err); !ok || e.Kind != fault.Invalid || len(e.Fields) == 0 {
		t.Fatalf("the refusal names nothing: %v", err)
	}
}
