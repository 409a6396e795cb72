package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// fakeJobs is a job table in memory that keeps Insert's promises.
type fakeJobs struct {
	mu   sync.Mutex
	rows map[string]export.Job
	keys map[string]string // idempotency key to job id
	asks []export.History
	err  error
}

func newJobs(jobs ...export.Job) *fakeJobs {
	f := &fakeJobs{rows: map[string]export.Job{}, keys: map[string]string{}}
	for _, j := range jobs {
		f.rows[j.ID] = j
	}
	return f
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (f *fakeJobs) Insert(_ context.Context, job export.Job, key string) (export.Job, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return export.Job{}, false, f.err
	}
	if id, used := f.keys[key]; used && key != "" {
		if asJSON(f.rows[id].Request) != asJSON(job.Request) || asJSON(f.rows[id].Scope) != asJSON(job.Scope) {
			return export.Job{}, false, fault.New(fault.Conflict, "The idempotency key was used with another order.")
		}
		return f.rows[id], false, nil
	}
	for _, j := range f.rows {
		if !j.Status.Final() && j.RequestedBy == job.RequestedBy && asJSON(j.Request) == asJSON(job.Request) && asJSON(j.Scope) == asJSON(job.Scope) {
			return j, false, nil
		}
	}
	f.rows[job.ID] = job
	if key != "" {
		f.keys[key] = job.ID
	}
	return job, true, nil
}

func (f *fakeJobs) Get(_ context.Context, id string) (export.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return export.Job{}, f.err
	}
	job, ok := f.rows[id]
	if !ok {
		return export.Job{}, fault.New(fault.NotFound, "no such row")
	}
	return job, nil
}

func (f *fakeJobs) History(_ context.Context, h export.History) ([]export.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asks = append(f.asks, h)
	var jobs []export.Job
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(f.rows))) {
		j := f.rows[id]
		if (h.RequestedBy == "" || j.RequestedBy == h.RequestedBy) && (h.Status == "" || j.Status == h.Status) && (h.Before == "" || id < h.Before) && len(jobs) < h.Limit {
			jobs = append(jobs, j)
		}
	}
	return jobs, f.err
}

func (f *fakeJobs) Cancel(_ context.Context, id string, at time.Time) (export.Job, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	job := f.rows[id]
	if job.Status.Final() {
		return job, false, nil
	}
	job.Status, job.FinishedAt = export.Canceled, at
	f.rows[id] = job
	return job, true, nil
}

// change is what a worker does to a row.
func (f *fakeJobs) change(id string, how func(*export.Job)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	job := f.rows[id]
	how(&job)
	f.rows[id] = job
}

func (f *fakeJobs) all() []export.Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.rows))
}

type fakeBoard struct {
	ahead    int64
	measured []export.Measured
	workers  export.Workers
	err      error
}

func (f *fakeBoard) Ahead(context.Context, export.Job) (int64, error) { return f.ahead, f.err }
func (f *fakeBoard) Workers(context.Context, time.Time) (export.Workers, error) {
	return f.workers, f.err
}

type fakeQueue struct {
	mu                 sync.Mutex
	enqueued, canceled []string
	err                error
}

func (f *fakeQueue) Enqueue(_ context.Context, job export.Job) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enqueued = append(f.enqueued, job.ID)
	return f.err
}

func (f *fakeQueue) Cancel(_ context.Context, job export.Job) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.canceled = append(f.canceled, job.ID)
	return f.err
}

// ourProperty is whose all reservations of fakeReservations are.
const ourProperty = 7

// fakeReservations has reservations 1 to total; of a filter it knows id alone.
type fakeReservations struct {
	mu      sync.Mutex
	total   int64
	err     error
	queries []reservation.Query
	counted []reservation.Query
	windows []reservation.Window
}

func (f *fakeReservations) Count(_ context.Context, q reservation.Query) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counted = append(f.counted, q)
	return f.total, f.err
}

func (f *fakeReservations) List(_ context.Context, q reservation.Query, w reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries, f.windows = append(f.queries, q), append(f.windows, w)
	if f.err != nil {
		return reservation.List{}, f.err
	}
	if p := q.Scope.Properties; p != nil && !slices.Contains(p, ourProperty) {
		return reservation.List{}, nil
	}
	var ids []int64
	for _, c := range q.Filter.Conditions {
		for _, v := range c.Values {
			if c.Field == "id" && v.Integer() <= f.total {
				ids = append(ids, v.Integer())
			}
		}
	}
	list := reservation.List{Total: -1}
	total := f.total
	if len(q.Filter.Conditions) > 0 {
		total = int64(len(ids))
	}
	for i := w.Offset; i < min(total, w.Offset+int64(w.Limit)); i++ {
		id := i + 1
		if len(ids) > 0 {
			id = ids[i]
		}
		list.Rows = append(list.Rows, rowOf(id, fields))
	}
	if withTotal {
		list.Total = total
	}
	return list, nil
}

func rowOf(id int64, fields []reservation.Field) table.Row {
	row := table.Row{Key: id}
	for _, f := range fields {
		v := table.Null()
		switch f.Key {
		case "id":
			v = table.IntegerOf(id)
		case "code":
			v = table.TextOf("00000042")
		case "guest_name":
			v = table.TextOf("김\"영희\xff")
		case "amount":
			v = table.DecimalOf(10, 2)
		case "check_in":
			v = table.DateOf(20000)
		case "check_out":
			v = table.ZeroDate()
		case "updated_at":
			v = table.TimeOfMicro(1_700_000_000_123_456)
		case "repeated_guest":
			v = table.BoolOf(true)
		}
		row.Values = append(row.Values, v)
	}
	return row
}

type fakeFiles struct {
	files map[string][]byte
	err   error // of reading
	open  int   // readers not yet closed
}

func (f *fakeFiles) Open(_ context.Context, key string) (export.Reader, error) {
	b, ok := f.files[key]
	if !ok {
		return nil, fault.New(fault.NotFound, "no such object")
	}
	f.open++
	return &fakeReader{bytes.NewReader(b), f}, nil
}

type fakeReader struct {
	*bytes.Reader
	of *fakeFiles
}

func (r *fakeReader) ReadAt(p []byte, off int64) (int, error) {
	if r.of.err != nil {
		return 0, r.of.err
	}
	return r.Reader.ReadAt(p, off)
}

func (r *fakeReader) Close() error {
	r.of.open--
	return nil
}

// reservationsDataset is the real catalog under the real checks, without a source.
func reservationsDataset() export.Dataset {
	d := export.Dataset{Name: "reservations", Defaults: reservation.DefaultFields()}
	for _, f := range reservation.Fields() {
		d.Columns = append(d.Columns, export.Column{
			Key: f.Key, Titles: map[string]string{"ko": f.Titles.Korean, "en": f.Titles.English}, Type: f.Type, Personal: string(f.Personal),
		})
	}
	d.Check = func(r export.Request) error {
		var wrong []fault.Field
		_, filterErr := reservation.ParseFilter(r.Filter)
		_, sortErr := reservation.ParseSort(r.Sort, r.Order)
		_, fieldsErr := reservation.FieldsOf(r.Columns)
		for _, err := range []error{filterErr, sortErr, fieldsErr} {
			if f, ok := fault.As(err); ok {
				wrong = append(wrong, f.Fields...)
			}
		}
		if len(wrong) > 0 {
			return fault.InvalidFields("The request is not valid.", wrong...)
		}
		return nil
	}
	return d
}

var errBroken = errors.New("dial tcp 10.0.0.7:3306: secret cause")

// logged collects log lines.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
