package repository

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"gorm.io/gorm"

	"rowmill/audit"
	"rowmill/internal/fault"
)

// Audit is the table of audit events. Events are added, read, and removed when
// they are old; nothing here changes one.
type Audit struct{ db *DB }

// NewAudit gives the audit of the database.
func NewAudit(db *DB) *Audit { return &Audit{db: db} }

var _ audit.Recorder = (*Audit)(nil)

func (a *Audit) table(ctx context.Context) *gorm.DB {
	return a.db.gorm.WithContext(ctx).Table("audit_events")
}

// Record implements audit.Recorder. An event that is not valid is Invalid, and an
// id that is taken a Conflict.
func (a *Audit) Record(ctx context.Context, e audit.Event) error {
	e, err := e.Bounded()
	if err != nil {
		return err
	}
	filter, err := json.Marshal(e.Filter)
	if err != nil {
		return fmt.Errorf("encode the filter of an event: %w", err)
	}
	columns, err := json.Marshal(e.Columns)
	if err != nil {
		return fmt.Errorf("encode the columns of an event: %w", err)
	}
	err = a.table(ctx).Create(map[string]any{
		"id": e.ID, "at": moment{e.At}, "actor": e.Actor, "actor_name": e.ActorName,
		"address": e.Address, "user_agent": e.UserAgent, "request_id": e.RequestID,
		"action": string(e.Action), "job_id": e.JobID, "dataset": e.Dataset,
		"filter": string(filter), "sort": e.Sort, "column_keys": string(columns), "personal": flag(e.Personal),
		"reason": e.Reason, "row_count": e.Rows, "byte_count": e.Bytes, "sha256": e.SHA256, "detail": e.Detail,
	}).Error
	if duplicate(err) {
		return fault.Wrap(err, fault.Conflict, "There is an event %s already.", e.ID)
	}
	return mapError(ctx, "record an event", err)
}

// flag is a truth as both engines keep it.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// List gives a part of the events, newest first. A query that is none is Invalid,
// a Before that names no event NotFound.
func (a *Audit) List(ctx context.Context, q audit.Query) ([]audit.Event, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	var from eventPlace
	if q.Before != "" {
		found, err := a.find(ctx, "WHERE id = ?", q.Before)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fault.New(fault.NotFound, "There is no event %q.", q.Before)
		}
		from = placeOf(found[0])
	}
	return a.page(ctx, q, from)
}

// auditPage is how many events All reads at once.
const auditPage = audit.MaxEvents

// All gives every event of the query, newest first; its Before and Limit do not
// count. It reads page by page: it holds one page, and no connection while its
// caller is slow. An error is given once and ends it.
func (a *Audit) All(ctx context.Context, q audit.Query) iter.Seq2[audit.Event, error] {
	return func(yield func(audit.Event, error) bool) {
		q.Before, q.Limit = "", auditPage
		if err := q.Check(); err != nil {
			yield(audit.Event{}, err)
			return
		}
		for from := (eventPlace{}); ; {
			events, err := a.page(ctx, q, from)
			if err != nil {
				yield(audit.Event{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if len(events) < auditPage {
				return
			}
			from = placeOf(events[len(events)-1])
		}
	}
}

// eventPlace is where an event stands in the order of events; the zero place is
// behind the newest.
type eventPlace struct {
	at moment
	id string
}

func placeOf(e audit.Event) eventPlace { return eventPlace{moment{e.At}, e.ID} }

// page gives the events of the query that are older than from.
func (a *Audit) page(ctx context.Context, q audit.Query, from eventPlace) ([]audit.Event, error) {
	where, args := "WHERE 1 = 1", []any{}
	and := func(applies bool, condition string, values ...any) {
		if applies {
			where, args = where+" AND "+condition, append(args, values...)
		}
	}
	and(q.Actor != "", "actor = ?", q.Actor)
	and(q.Action != "", "action = ?", string(q.Action))
	and(q.JobID != "", "job_id = ?", q.JobID)
	and(!q.From.IsZero(), "at >= ?", moment{q.From})
	and(!q.To.IsZero(), "at < ?", moment{q.To})
	and(from.id != "", "at <= ? AND (at < ? OR id < ?)", from.at, from.at, from.id)
	return a.find(ctx, where+" ORDER BY at DESC, id DESC LIMIT ?", append(args, q.Limit)...)
}

// Retain removes up to limit of the events from before the time, the oldest
// first, and says how many.
func (a *Audit) Retain(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	var old []string
	err = a.table(ctx).Where("at < ?", moment{before}).Order("at, id").Limit(limit).Pluck("id", &old).Error
	if err != nil || len(old) == 0 {
		return 0, mapError(ctx, "look for old events", err)
	}
	done := a.db.gorm.WithContext(ctx).Exec("DELETE FROM audit_events WHERE id IN ?", old)
	return int(done.RowsAffected), mapError(ctx, "remove old events", done.Error)
}

const selectEvent = "SELECT id, at, actor, actor_name, address, user_agent, request_id, action, job_id, dataset," +
	" filter, sort, column_keys, personal, reason, row_count, byte_count, sha256, detail FROM audit_events "

func (a *Audit) find(ctx context.Context, where string, args ...any) (events []audit.Event, err error) {
	err = a.each(ctx, where, args, func(e audit.Event) { events = append(events, e) })
	return events, err
}

// each reads events one by one.
func (a *Audit) each(ctx context.Context, where string, args []any, take func(audit.Event)) error {
	rows, err := a.db.rows(ctx, selectEvent+where, args...)
	if err != nil {
		return mapError(ctx, "read events", err)
	}
	defer rows.Close()
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return mapError(ctx, "read an event", err)
		}
		take(e)
	}
	return mapError(ctx, "read events", rows.Err())
}

func scanEvent(rows *sql.Rows) (e audit.Event, err error) {
	var at moment
	var filter, columns string
	if err := rows.Scan(&e.ID, &at, &e.Actor, &e.ActorName, &e.Address, &e.UserAgent, &e.RequestID, &e.Action, &e.JobID, &e.Dataset,
		&filter, &e.Sort, &columns, &e.Personal, &e.Reason, &e.Rows, &e.Bytes, &e.SHA256, &e.Detail); err != nil {
		return e, err
	}
	e.At = at.Time
	if err = json.Unmarshal([]byte(filter), &e.Filter); err == nil {
		err = json.Unmarshal([]byte(columns), &e.Columns)
	}
	if err != nil {
		err = fmt.Errorf("decode event %s: %w", e.ID, err)
	}
	return e, err
}
