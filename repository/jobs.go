package repository

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"rowmill/export"
	"rowmill/internal/fault"
)

// Jobs is the table of export jobs, the truth about them. Every write is one
// compare-and-set: one UPDATE whose WHERE names the state that it expects, and
// whose count of rows says whether it happened. So no write needs a lock or a
// transaction, and of any number of racing writers one wins.
type Jobs struct {
	db      *DB
	maxLive int   // jobs of one requester that may be alive; 0: no bound
	room    *room // what all may have alive; nil: no bound
}

// NewJobs gives the jobs of the database.
func NewJobs(db *DB) *Jobs { return &Jobs{db: db} }

func (j *Jobs) table(ctx context.Context) *gorm.DB {
	return j.db.gorm.WithContext(ctx).Table("export_jobs")
}

// insertTries bounds the races in which the job that refused ours is gone by the time
// that it is looked for, or had the turn that ours was to have: one requester's
// gateway lets 60 calls in at once by default.
const insertTries = 64

// Insert stores a new job, or finds the one that it would repeat: the one that
// the same requester asked under the same idempotency key ("" for none), or the
// one of an equal request that is still alive; created is false then. The same
// key for another request is a Conflict, as is a job id that is taken. A requester
// who has as many live jobs as Limited allows gets TooMany; where all have as many
// as Bounded allows, it is Full.
func (j *Jobs) Insert(ctx context.Context, job export.Job, idempotencyKey string) (stored export.Job, created bool, err error) {
	row, err := rowOf(job, idempotencyKey)
	if err != nil {
		return export.Job{}, false, err
	}
	for range insertTries + j.maxLive {
		if refused := j.seat(ctx, row, job); refused != nil {
			return j.repeatedOr(ctx, row, refused)
		}
		err = j.table(ctx).Create(row.columns).Error
		if err == nil {
			j.room.add(job.RowsExpected)
			stored, err = j.Get(ctx, job.ID)
			return stored, err == nil, err
		}
		if deadlock(err) {
			continue
		}
		if !duplicate(err) {
			return export.Job{}, false, mapError(ctx, "insert a job", err)
		}
		stored, err = j.repeated(ctx, row)
		if !errors.Is(err, errNotRepeated) {
			return stored, false, err
		}
	}
	return export.Job{}, false, fault.Wrap(err, fault.Unavailable, "The job could not be stored just now. Please try again.")
}

// seat gives the row its slot and its turn, if there is room for it.
func (j *Jobs) seat(ctx context.Context, row newRow, job export.Job) error {
	slot, full, err := j.freeSlot(ctx, job.RequestedBy)
	if err != nil {
		return err
	}
	if full {
		return j.atBound()
	}
	if err := j.room.admit(ctx, j, job.RowsExpected); err != nil {
		return err
	}
	turn, err := j.nextTurn(ctx, job.RequestedBy, job.Queue)
	row.columns["slot"], row.columns["turn"] = slot, turn
	return err
}

// repeatedOr finds the job that the row would repeat, which needs no room, where
// there is none; another error stays what it is.
func (j *Jobs) repeatedOr(ctx context.Context, row newRow, refused error) (export.Job, bool, error) {
	if kind := fault.KindOf(refused); kind != fault.TooMany && kind != fault.Full {
		return export.Job{}, false, refused
	}
	stored, err := j.repeated(ctx, row)
	if errors.Is(err, errNotRepeated) {
		err = refused
	}
	return stored, false, err
}

var errNotRepeated = errors.New("the job that was in the way is gone")

// repeated finds the job that keeps the row from being inserted.
func (j *Jobs) repeated(ctx context.Context, row newRow) (export.Job, error) {
	if row.idempotencyKey != "" {
		found, err := j.find(ctx, "WHERE requested_by = ? AND idempotency_key = ?", row.requestedBy, row.idempotencyKey)
		if err != nil {
			return export.Job{}, err
		}
		if len(found) > 0 {
			if key, _, err := requestKey(found[0]); err != nil || key != row.requestKey {
				return export.Job{}, errors.Join(err, fault.New(fault.Conflict, "This idempotency key was used for another request."))
			}
			return found[0], nil
		}
	}
	found, err := j.find(ctx, "WHERE active_key = ?", row.activeKey)
	if err != nil {
		return export.Job{}, err
	}
	if len(found) > 0 {
		return found[0], nil
	}
	if _, err := j.Get(ctx, row.id); err == nil {
		return export.Job{}, fault.New(fault.Conflict, "There is a job %s already.", row.id)
	} else if fault.KindOf(err) != fault.NotFound {
		return export.Job{}, err
	}
	return export.Job{}, errNotRepeated
}

// newRow is a job as it is inserted, and what may be in its way.
type newRow struct {
	columns                                                map[string]any
	id, requestedBy, idempotencyKey, requestKey, activeKey string
}

func rowOf(job export.Job, idempotencyKey string) (newRow, error) {
	if job.ID == "" || job.Status != export.Queued {
		return newRow{}, fault.New(fault.Invalid, "A new job has an id and is queued.")
	}
	key, text, err := requestKey(job)
	if err != nil {
		return newRow{}, err
	}
	active := sha256.Sum256([]byte(job.RequestedBy + "\x00" + key))
	r := newRow{id: job.ID, requestedBy: job.RequestedBy, idempotencyKey: idempotencyKey,
		requestKey: key, activeKey: hex.EncodeToString(active[:])}
	r.columns = map[string]any{
		"id": job.ID, "request": text.request, "scope": text.scope, "request_key": key, "requested_by": job.RequestedBy,
		"idempotency_key": nil, "active_key": r.activeKey,
		"queue": string(job.Queue), "status": string(job.Status), "phase": string(job.Phase),
		"attempt": job.Attempt, "failures": job.Failures,
		"rows_expected": job.RowsExpected, "rows_written": job.RowsWritten,
		"created_at": moment{job.CreatedAt}, "run_at": moment{job.RunAt},
		"trace_parent": job.TraceParent, "worker": "",
	}
	if idempotencyKey != "" {
		r.columns["idempotency_key"] = idempotencyKey
	}
	return r, nil
}

// jobText is what of a job is kept as JSON from its start.
type jobText struct{ request, scope string }

// requestKey is the same for equal requests that see the same: JSON writes a map
// in key order, and properties are told in theirs.
func requestKey(job export.Job) (key string, text jobText, err error) {
	scope := job.Scope
	if scope.Properties != nil {
		scope.Properties = slices.Compact(slices.Sorted(slices.Values(scope.Properties)))
		if scope.Properties == nil {
			scope.Properties = []int64{} // none is not all
		}
	}
	r, err := json.Marshal(job.Request)
	if err != nil {
		return "", text, fmt.Errorf("encode a request: %w", err)
	}
	s, err := json.Marshal(scope)
	if err != nil {
		return "", text, fmt.Errorf("encode a scope: %w", err)
	}
	sum := sha256.Sum256(slices.Concat(r, []byte{0}, s))
	return hex.EncodeToString(sum[:]), jobText{string(r), string(s)}, nil
}

// Cancel ends a queued or running job; changed is false if it had ended before.
// An unknown job is NotFound.
func (j *Jobs) Cancel(ctx context.Context, id string, at time.Time) (job export.Job, changed bool, err error) {
	return j.end(ctx, id, at, map[string]any{})
}

// end cancels a job that is alive and sets what else is given.
func (j *Jobs) end(ctx context.Context, id string, at time.Time, set map[string]any) (job export.Job, changed bool, err error) {
	maps.Copy(set, map[string]any{
		"status": string(export.Canceled), "phase": "", "active_key": nil,
		"lease_until": nil, "finished_at": moment{at},
	})
	done := j.table(ctx).Where("id = ? AND status IN ?", id, []string{string(export.Queued), string(export.Running)}).Updates(set)
	if done.Error != nil {
		return export.Job{}, false, mapError(ctx, "cancel a job", done.Error)
	}
	job, err = j.Get(ctx, id)
	return job, err == nil && done.RowsAffected == 1, err
}

// Expire marks a succeeded job whose file is past its time. A job that has
// expired before is no error; one that may not expire is a Conflict.
func (j *Jobs) Expire(ctx context.Context, id string, at time.Time) error {
	done := j.table(ctx).Where("id = ? AND status = ? AND expires_at < ?", id, string(export.Succeeded), moment{at}).
		Updates(map[string]any{"status": string(export.Expired)})
	if done.Error != nil {
		return mapError(ctx, "expire a job", done.Error)
	}
	if done.RowsAffected == 1 {
		return nil
	}
	job, err := j.Get(ctx, id)
	if err == nil && job.Status != export.Expired {
		err = fault.New(fault.Conflict, "Job %s has no file that is past its time.", id)
	}
	return err
}
