package repository

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"rowmill/export"
	"rowmill/internal/testdb"
	"rowmill/reservation"
)

// recorder keeps the statements that gorm sends, their values written in.
type recorder struct {
	logger.Interface
	mu         sync.Mutex
	statements []string
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

func (r *recorder) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	text, _ := statement()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, text)
}

// recorded runs do and gives the statements that it sent.
func recorded(t *testing.T, db *DB, do func(*DB) error) []string {
	t.Helper()
	r := &recorder{Interface: logger.Discard}
	watched := &DB{gorm: db.gorm.Session(&gorm.Session{Logger: r}), pool: db.pool, sqlite: db.sqlite}
	if err := do(watched); err != nil {
		t.Fatal(err)
	}
	return r.statements
}

// planRow is a line of EXPLAIN.
type planRow struct{ table, access, key, extra string }

func explain(t *testing.T, db *DB, statement string) (plan []planRow) {
	t.Helper()
	rows, err := db.pool.QueryContext(t.Context(), "EXPLAIN "+statement)
	if err != nil {
		t.Fatalf("%v: %s", err, statement)
	}
	defer rows.Close()
	for rows.Next() {
		var table, access, possible, key, length, ref, extra sql.NullString
		var id, kind, n sql.NullString
		if err := rows.Scan(&id, &kind, &table, &access, &possible, &key, &length, &ref, &n, &extra); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, planRow{table.String, access.String, key.String, extra.String})
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// indexed fails if a statement reads a whole table or sorts one, or finds out
// which reservations match, and in which order, from anything but an index. The
// ids of a list's window are a derived table: as many rows as the page, sorted
// at will; its rows are then looked up as r.
func indexed(t *testing.T, db *DB, name string, statements []string) {
	t.Helper()
	if len(statements) == 0 {
		t.Errorf("%s: no statement", name)
	}
	for _, s := range statements {
		for _, row := range explain(t, db, s) {
			if strings.HasPrefix(row.table, "<") {
				continue
			}
			if row.access == "ALL" || strings.Contains(row.extra, "Using filesort") ||
				row.table == "reservations" && row.key != "PRIMARY" && !strings.Contains(row.extra, "Using index") {
				t.Errorf("%s: %+v\n%.300s", name, explain(t, db, s), s)
				break
			}
		}
	}
}

func analyzed(t *testing.T) *DB {
	t.Helper()
	db := openTest(t, Config{DSN: testdb.MySQL(t)})
	seed(t, db, 6000)
	var jobs [][]any
	for i := range 3000 {
		status := [...]string{"succeeded", "failed", "canceled", "queued", "running"}[i%5]
		at := moment{firstDay.Add(time.Duration(i) * time.Minute)}
		var active any
		if i%5 > 2 {
			active = fmt.Sprint(i)
		}
		jobs = append(jobs, []any{fmt.Sprintf("job%06d", i), "{}", "k", fmt.Sprintf("user%d", i%50), nil, active, [...]string{"small", "large"}[i%2], status, "",
			1, 0, 0, 0, at, at, at, at, nil, at, nil, nil, nil, nil, nil, "", "", "{}"})
	}
	insert(t, db, "export_jobs (id, request, request_key, requested_by, idempotency_key, active_key, queue, status, phase,"+
		" attempt, failures, rows_expected, rows_written, created_at, run_at, started_at, lease_until, finished_at, expires_at,"+
		" failure, file_key, file_size, file_sha256, receipt, trace_parent, worker, scope)", jobs)
	exec(t, db, "ANALYZE TABLE reservations, guests, payments, cancellations, stays, coupon_uses, properties, products, channels, agents, export_jobs")
	return db
}

func TestHotListsAndSnapshotsReadAnIndexInOrder(t *testing.T) {
	db := analyzed(t)
	type query struct {
		filter map[string][]string
		sort   string
	}
	queries := []query{
		{map[string][]string{"status": {"Canceled"}}, "check_in"},
		{map[string][]string{"status": {"Check-Out"}}, "check_in"},
		{map[string][]string{"property_id": {"1"}}, "check_in"},
		{map[string][]string{"channel_id": {"2"}}, "check_in"},
		{map[string][]string{"check_in_gte": {"2016-05-01"}, "check_in_lte": {"2016-06-30"}}, "check_in"},
		{map[string][]string{"booked_on_gte": {"2016-05-01"}, "booked_on_lte": {"2016-06-30"}}, "booked_on"},
		{map[string][]string{"code_like": {"000012"}}, "code"},
	}
	for _, f := range reservation.StoredFields() {
		if f.Sort {
			queries = append(queries, query{nil, f.Key})
		}
	}
	after := int64(1234)
	fields := fieldsOf(t, reservation.DefaultFields()...)
	for _, q := range queries {
		filter, err := reservation.ParseFilter(q.filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, desc := range []bool{false, true} {
			asked := reservation.Query{Filter: filter, Sort: reservation.Sort{Field: q.sort, Desc: desc}}
			name := fmt.Sprintf("%v by %s, desc %v", q.filter, q.sort, desc)
			indexed(t, db, "snapshot of "+name, recorded(t, db, func(db *DB) error {
				_, err := readIDs(t.Context(), db, asked)
				return err
			}))
			total, err := NewReservations(db).total(t.Context(), mustSelect(t, db, asked))
			if err != nil {
				t.Fatal(err)
			}
			for at, w := range map[string]reservation.Window{
				"first": {Limit: 25}, "middle": {Limit: 25, Offset: total / 2}, "last": {Limit: 25, Offset: total - 25}, "after": {Limit: 25, After: &after},
			} {
				w.Offset = max(0, w.Offset)
				indexed(t, db, at+" page of "+name, recorded(t, db, func(db *DB) error {
					_, err := newReservations(db, listSize{100, 50, 100}, time.Now).List(t.Context(), asked, w, fields, true)
					return err
				}))
			}
		}
	}
}

// A page costs as many statements wherever it lies, and its total is counted in an index.
func TestADeepPageCostsAsManyStatementsAsTheFirst(t *testing.T) {
	db := analyzed(t)
	page := func(offset int64) []string {
		return recorded(t, db, func(db *DB) error {
			q := reservation.Query{Sort: reservation.Sort{Field: "check_in"}}
			list, err := NewReservations(db).List(t.Context(), q, reservation.Window{Offset: offset, Limit: 25}, reservation.StoredFields(), true)
			if err == nil && (len(list.Rows) != 25 || list.Total != 6000) {
				err = fmt.Errorf("%d rows of %d", len(list.Rows), list.Total)
			}
			return err
		})
	}
	first, deep := page(0), page(5975)
	if len(deep) != len(first) {
		t.Errorf("the first page costs %d statements, the last one %d", len(first), len(deep))
	}
	counts := 0
	for _, s := range deep {
		if !strings.Contains(s, "COUNT(*)") {
			continue
		}
		counts++
		for _, row := range explain(t, db, s) {
			if !strings.Contains(row.extra, "Using index") && !strings.Contains(row.extra, "optimized away") {
				t.Errorf("the total is counted as %+v", row)
			}
		}
	}
	if counts != 1 {
		t.Errorf("the total is counted %d times", counts)
	}
}

func TestBatchesReadByPrimaryKey(t *testing.T) {
	db := analyzed(t)
	ids := snapshotIDs(t, db, reservation.Query{})
	for _, n := range []int{1, 100, 1000, 5000} {
		indexed(t, db, fmt.Sprintf("batch of %d", n), recorded(t, db, func(db *DB) error {
			_, err := NewReservations(db).Batch(t.Context(), everything, ids[:n], reservation.StoredFields())
			return err
		}))
	}
}

func TestJobQueriesReadAnIndex(t *testing.T) {
	db := analyzed(t)
	at := firstDay.AddDate(0, 0, 1)
	for name, do := range map[string]func(*Jobs) error{
		"due": func(j *Jobs) error { _, err := j.Due(t.Context(), at, export.Job{}, 50); return err },
		"due after": func(j *Jobs) error {
			_, err := j.Due(t.Context(), at, export.Job{ID: "job000003", RunAt: firstDay}, 50)
			return err
		},
		"lost":      func(j *Jobs) error { _, err := j.Lost(t.Context(), at, 50); return err },
		"expirable": func(j *Jobs) error { _, err := j.Expirable(t.Context(), at, 50); return err },
		"ahead": func(j *Jobs) error {
			_, err := j.Ahead(t.Context(), export.Job{ID: "job000900", Queue: export.QueueSmall, CreatedAt: at})
			return err
		},
		"history": func(j *Jobs) error {
			_, err := j.History(t.Context(), export.History{Limit: 20, Before: "job002000"})
			return err
		},
		"own history": func(j *Jobs) error {
			_, err := j.History(t.Context(), export.History{Limit: 20, RequestedBy: "user1"})
			return err
		},
		"own history of a status": func(j *Jobs) error {
			_, err := j.History(t.Context(), export.History{Limit: 20, RequestedBy: "user1", Status: export.Failed})
			return err
		},
		"live": func(j *Jobs) error { _, err := j.Live(t.Context(), "user3"); return err },
		"free slot": func(j *Jobs) error {
			_, full, err := j.Limited(100).freeSlot(t.Context(), "user3")
			if full {
				return errors.New("there is no free slot")
			}
			return err
		},
		"measured": func(j *Jobs) error { _, err := j.Measured(t.Context(), "reservations", "xlsx"); return err },
		"get":      func(j *Jobs) error { _, err := j.Get(t.Context(), "job000001"); return err },
	} {
		indexed(t, db, name, recorded(t, db, func(db *DB) error { return do(NewJobs(db)) }))
	}
}
