package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/pool"
	"rowmill/internal/table"
)

// work is a job and what it means here.
type work struct {
	*Runner
	job   Job
	plan  plan
	pages pageTracer
}

// attempt is one run of a job.
type attempt struct {
	work
	fence Fence
	rep   *reporter
	clock *phaseClock
	step  step

	snapshot Snapshot   // without its pages if it was stored by an earlier attempt
	segs     *segmented // nil: the job is not cut
	shared   *shared    // nil: nobody else makes segments of it
	receipt  Receipt
	keys     *roaring64.Bitmap // of the rows written

	publishing bool // the job may have succeeded: only ErrFenced says that it has not
}

// make goes through the phases. The job is Succeeded when it returns nil.
func (a *attempt) make(ctx context.Context, key string) (err error) {
	defer func() { a.leave(err) }()
	if a.plan, err = a.planOf(a.job.Request); err != nil {
		return err
	}
	phase := a.enter(ctx, PhaseSnapshot)
	if err = a.takeSnapshot(ctx, phase); err != nil {
		return err
	}
	a.receipt.SnapshotAt, a.receipt.Expected, a.receipt.Statements = a.snapshot.At, a.snapshot.Total, a.snapshot.Statements
	a.rep.expect(a.snapshot.Total)
	a.share(ctx)

	phase = a.enter(ctx, PhaseFetch)
	written, err := a.write(phase, key)
	if err != nil {
		return err
	}
	phase = a.enter(ctx, PhaseVerify)
	if err := a.verify(phase, key, written); err != nil {
		return err
	}
	phase = a.enter(ctx, PhasePublish)
	if err := a.storeRows(phase); err != nil {
		return err
	}
	return a.publish(phase, key)
}

// write streams the rows into the file store and gives the hash of what it wrote.
func (a *attempt) write(ctx context.Context, key string) (hash.Hash, error) {
	sum := sha256.New()
	err := a.cfg.Files.Put(ctx, key, a.fileMeta(ctx), func(w io.Writer) error {
		enc, err := sheet.New(io.MultiWriter(w, sum), a.plan.spec)
		if err != nil {
			return fmt.Errorf("begin the file: %w", err)
		}
		if err := a.writeRows(ctx, enc); err != nil {
			return err
		}
		if err := enc.Close(a.info()); err != nil {
			return fmt.Errorf("end the file: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write the file: %w", err)
	}
	return sum, nil
}

// writeRows is the pipeline: pages are fetched and chunks encoded on the shared
// pools, both in order, and only a bounded number of each is held.
func (a *attempt) writeRows(ctx context.Context, enc sheet.Encoder) error {
	a.keys = roaring64.New()
	if a.segs != nil {
		return a.joinSegments(ctx, enc)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the fetches that a broken file no longer needs
	pages := pool.Map(ctx, a.cfg.Fetch.Lane(), a.cfg.Window, each(a.snapshot.Pages), a.fetch)
	// Chunks are ready sooner than pages: one to write while each core makes one.
	chunks := pool.Map(ctx, a.cfg.Encode.Lane(), a.cfg.Encode.Limit()+1, a.place(pages, enc), func(_ context.Context, s sheet.Span) (sheet.Chunk, error) {
		return enc.Encode(s)
	})
	return a.appendAll(enc, chunks, cancel)
}

// appendAll joins the chunks to the file. It calls cancel where it stops before
// their end.
func (a *attempt) appendAll(enc sheet.Encoder, chunks iter.Seq2[sheet.Chunk, error], cancel context.CancelFunc) error {
	for chunk, err := range chunks {
		if err == nil {
			err = enc.Append(chunk)
		}
		if err != nil {
			cancel()
			return fmt.Errorf("rows %d and following: %w", a.receipt.Written+1, err)
		}
		a.receipt.Written += int64(chunk.Rows)
		a.receipt.Losses.Merge(chunk.Losses)
		a.receipt.Sheets = max(a.receipt.Sheets, chunk.Sheet+1)
		a.rep.wrote(a.receipt.Written)
	}
	a.receipt.Sheets = max(a.receipt.Sheets, 1)
	a.receipt.Distinct = int64(a.keys.GetCardinality())
	return a.reconcile()
}

type fetched struct {
	page Page
	at   time.Time
}

// fetch reads a page. A page that does not account for each of its rows is a
// fault, never the end of the data.
func (w *work) fetch(ctx context.Context, t PageToken) (_ fetched, err error) {
	ctx, end := w.pages.begin(ctx, t.Rows, w.cfg.Now)
	defer func() { end(err) }()
	page, err := w.plan.dataset.Source.Fetch(ctx, w.job.Scope, t, w.plan.fields)
	if err != nil {
		return fetched{}, fmt.Errorf("fetch a page: %w", err)
	}
	if len(page.Rows)+page.Deleted != t.Rows {
		return fetched{}, fault.New(fault.Unavailable, "A page of %d rows came back with %d rows and %d deleted: rows are missing.", t.Rows, len(page.Rows), page.Deleted)
	}
	return fetched{page, w.cfg.Now()}, nil
}

// place gives the rows their places in the file as their pages come in.
func (a *attempt) place(pages iter.Seq2[fetched, error], enc sheet.Encoder) iter.Seq2[sheet.Span, error] {
	return func(yield func(sheet.Span, error) bool) {
		for f, err := range pages {
			if err != nil {
				yield(sheet.Span{}, err)
				return
			}
			a.account(f)
			for _, span := range enc.Place(a.plan.project(f.page.Rows)) {
				if !yield(span, nil) {
					return
				}
			}
		}
	}
}

func (a *attempt) account(f fetched) {
	r := &a.receipt
	widen(&r.FirstPageAt, &r.LastPageAt, f.at, f.at)
	r.Pages++
	r.PagesFetched++
	r.Statements += f.page.Statements
	r.DeletedMeanwhile += int64(f.page.Deleted)
	for _, row := range f.page.Rows {
		a.keys.Add(uint64(row.Key))
	}
}

// widen makes a time from first to last hold another one: pages are read beside each
// other, and the one that comes first need not be the first that was read.
func widen(first, last *time.Time, from, to time.Time) {
	if first.IsZero() || from.Before(*first) {
		*first = from
	}
	if to.After(*last) {
		*last = to
	}
}

// project brings the fields of each row into the order of the columns.
func (p plan) project(rows []table.Row) []table.Row {
	straight := len(p.at) == len(p.fields)
	for i, at := range p.at {
		straight = straight && i == at
	}
	if straight {
		return rows
	}
	out := make([]table.Row, len(rows))
	slab := make([]table.Value, len(rows)*len(p.at))
	for i, row := range rows {
		values := slab[i*len(p.at) : (i+1)*len(p.at)]
		for c, at := range p.at {
			values[c] = row.Values[at]
		}
		out[i] = table.Row{Key: row.Key, Values: values}
	}
	return out
}

// reconcile holds what was written against the snapshot.
func (a *attempt) reconcile() error {
	r := a.receipt
	switch {
	case r.Written+r.DeletedMeanwhile != r.Expected:
		return fmt.Errorf("the snapshot has %d rows, but %d were written and %d are deleted", r.Expected, r.Written, r.DeletedMeanwhile)
	case r.Distinct != r.Written:
		return fmt.Errorf("%d rows were written, but only %d different ones", r.Written, r.Distinct)
	}
	return nil
}

// verify reads the stored file back: its hash, its structure, its rows.
func (a *attempt) verify(ctx context.Context, key string, written hash.Hash) (err error) {
	file, err := a.cfg.Files.Open(ctx, key)
	if err != nil {
		return fmt.Errorf("open the file to verify it: %w", err)
	}
	defer func() {
		if closeErr := file.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close the verified file: %w", closeErr)
		}
	}()
	var hashing sync.WaitGroup
	var hashErr error
	hashing.Go(func() { hashErr = a.verifyHash(ctx, file, written) })
	found, err := sheet.Verify(ctx, a.job.Request.Format, file, file.Size())
	hashing.Wait()
	if err != nil {
		err = fmt.Errorf("verify the file: %w", err)
	}
	if err := errors.Join(hashErr, err); err != nil {
		return err
	}
	if found.Rows() != a.receipt.Written || len(found.Sheets) != a.receipt.Sheets {
		return fmt.Errorf("the file holds %d rows on %d sheets, not %d on %d", found.Rows(), len(found.Sheets), a.receipt.Written, a.receipt.Sheets)
	}
	return nil
}

func (a *attempt) verifyHash(ctx context.Context, file Reader, written hash.Hash) error {
	stored := sha256.New()
	if _, err := io.Copy(stored, contextReader{ctx, io.NewSectionReader(file, 0, file.Size())}); err != nil {
		return fmt.Errorf("read the file back: %w", err)
	}
	a.receipt.Bytes, a.receipt.SHA256 = file.Size(), hex.EncodeToString(stored.Sum(nil))
	if want := hex.EncodeToString(written.Sum(nil)); a.receipt.SHA256 != want {
		return fault.New(fault.Unavailable, "The file store gave back other bytes than it was given.")
	}
	return nil
}

func (a *attempt) publish(ctx context.Context, key string) error {
	a.rep.stop() // its last word must not come after the end
	a.clock.end()
	a.receipt.Seconds = a.clock.seconds
	a.receipt.PeakMemory = a.rep.peakMemory()
	now := a.cfg.Now()
	file := File{Key: key, Size: a.receipt.Bytes, SHA256: a.receipt.SHA256}
	a.publishing = true
	if err := a.cfg.Attempts.Succeed(ctx, a.fence, file, a.receipt, now, now.Add(a.cfg.Retention)); err != nil {
		return fmt.Errorf("publish the file: %w", err)
	}
	return nil
}

// contextReader ends a long read with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}
