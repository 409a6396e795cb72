package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// takeSnapshot gets the list of rows: the newest whole one that an earlier attempt
// has stored, or one of now, in the phase's context. A big job is cut into segments.
func (a *attempt) takeSnapshot(ctx, phase context.Context) error {
	resumed, err := a.resume(ctx)
	if err != nil || resumed {
		return err
	}
	if a.snapshot, err = a.plan.dataset.Source.Snapshot(phase, a.job.Scope, a.job.Request); err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	if least := a.cfg.Segments.ResumeRows; least <= 0 || a.snapshot.Total < least || a.cfg.Now().UnixNano() < a.noRoomUntil.Load() {
		return nil
	}
	return a.keepSnapshot(ctx)
}

// keepSnapshot cuts the snapshot and stores it. If the store does not take it, the
// job is made as one that is not cut.
func (a *attempt) keepSnapshot(ctx context.Context) error {
	s, err := a.newSegmented(a.job.Attempt)
	if err != nil {
		return err
	}
	query, err := fingerprint(a.querying())
	if err != nil {
		return err
	}
	per := a.cfg.Segments.Pages
	s.index = cutList(a.snapshot.Pages, per)
	s.tokens = func(segment int) ([]PageToken, error) {
		return a.snapshot.Pages[segment*per : min(len(a.snapshot.Pages), (segment+1)*per)], nil
	}
	head := listHead{JobID: a.job.ID, Attempt: a.job.Attempt, Query: query, At: a.snapshot.At,
		Total: a.snapshot.Total, Statements: a.snapshot.Statements, SegmentPages: per, Segments: len(s.index)}
	err = a.cfg.Segments.Files.Put(ctx, listKey(a.job.ID, a.job.Attempt), FileMeta{ContentType: chunkType}, func(w io.Writer) error {
		return writeList(w, head, s.index, a.snapshot.Pages)
	})
	if err != nil {
		a.refuse(ctx, err)
		return nil
	}
	a.segs = s
	return nil
}

// refuse goes on without keeping anything: that it could be resumed is not worth a
// job that can be made. What is kept makes room for its file.
func (a *attempt) refuse(ctx context.Context, why error) {
	if ctx.Err() != nil || (a.segs != nil && a.segs.refused.Swap(true)) {
		return
	}
	a.cfg.Logger.WarnContext(ctx, "the file store keeps no segments: another attempt would begin anew", "attempt", a.job.Attempt, "error", why)
	if err := a.DiscardSegments(ctx, a.job.ID); err != nil {
		a.cfg.Logger.WarnContext(ctx, "what is kept of a job is left to the sweeper", "error", err)
	}
}

// noRoomFor is how long no job is cut after a file had no room: longer than a job
// waits for its next attempts.
const noRoomFor = 5 * time.Minute

// makeRoom removes what is kept of a job whose file had no room, also when ctx has
// ended: with it the file might never have any. Its next attempt keeps nothing.
func (a *attempt) makeRoom(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	a.noRoomUntil.Store(a.cfg.Now().Add(noRoomFor).UnixNano())
	a.cfg.Logger.WarnContext(ctx, "a file has no room: its job begins anew and keeps no segments", "attempt", a.job.Attempt, "error", why)
	if err := a.DiscardSegments(ctx, a.job.ID); err != nil {
		a.cfg.Logger.WarnContext(ctx, "what is kept of a job is left to the sweeper", "error", err)
	}
}

// newSegmented gives a job of segments without its list.
func (w *work) newSegmented(snapshot int) (*segmented, error) {
	form, err := w.form()
	if err != nil {
		return nil, err
	}
	return &segmented{snapshot: snapshot, form: form, stored: map[int]bool{},
		fetch: w.cfg.Fetch.Lane(), encode: w.cfg.Encode.Lane(), window: (w.cfg.Window + segmentsAtOnce - 1) / segmentsAtOnce}, nil
}

// resume goes on with the newest snapshot of an earlier attempt that is whole.
func (a *attempt) resume(ctx context.Context) (bool, error) {
	if a.cfg.Segments.ResumeRows <= 0 || a.job.Attempt == 1 {
		return false, nil
	}
	segments := map[int][]int{} // by snapshot: what is stored of it
	var snapshots []int
	for key, err := range a.cfg.Segments.Files.Keys(ctx, keysOf(a.job.ID)) {
		if err != nil {
			a.cfg.Logger.WarnContext(ctx, "what earlier attempts kept cannot be listed: the job begins anew", "error", err)
			return false, nil
		}
		snapshot, segment, ok := readKey(a.job.ID, key)
		switch {
		case !ok || snapshot >= a.job.Attempt:
		case segment < 0:
			snapshots = append(snapshots, snapshot)
		default:
			segments[snapshot] = append(segments[snapshot], segment)
		}
	}
	slices.SortFunc(snapshots, func(x, y int) int { return cmp.Compare(y, x) })
	for _, snapshot := range snapshots {
		err := a.resumeFrom(ctx, snapshot, segments[snapshot])
		if err == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		a.cfg.Logger.WarnContext(ctx, "a stored snapshot is not used", "snapshot", snapshot, "error", err)
	}
	return false, nil
}

func (a *attempt) resumeFrom(ctx context.Context, snapshot int, stored []int) (err error) {
	s, list, err := a.openSegmented(ctx, snapshot)
	if err != nil {
		return err
	}
	if err := errors.Join(list.load(), list.close()); err != nil {
		return err
	}
	for _, segment := range stored {
		s.stored[segment] = true
	}
	a.segs = s
	a.snapshot = Snapshot{At: list.At, Total: list.Total, Statements: list.Statements}
	a.cfg.Logger.InfoContext(ctx, "an attempt goes on with what was kept", "attempt", a.job.Attempt, "snapshot", snapshot, "segments", len(s.index), "stored", len(stored))
	return nil
}

// openSegmented opens a stored snapshot of the job. It is read until it is closed,
// or ctx ends.
func (w *work) openSegmented(ctx context.Context, snapshot int) (*segmented, *storedList, error) {
	s, err := w.newSegmented(snapshot)
	if err != nil {
		return nil, nil, err
	}
	query, err := fingerprint(w.querying())
	if err != nil {
		return nil, nil, err
	}
	file, err := w.cfg.Segments.Files.Open(ctx, listKey(w.job.ID, snapshot))
	if err != nil {
		return nil, nil, fmt.Errorf("open the snapshot of attempt %d: %w", snapshot, err)
	}
	list, err := readList(file, file.Size())
	if err == nil && (list.JobID != w.job.ID || list.Attempt != snapshot || list.Query != query) {
		err = unusable("it is the snapshot of another job, attempt or question")
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	list.close = file.Close
	s.index, s.tokens = list.index, list.tokens
	return s, list, nil
}
