package export

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"rowmill/export/sheet"
	"rowmill/internal/pool"
)

// joinSegments is the pipeline of a job that is cut: its segments are made, or
// read, a few at once, and go into the file in order.
func (a *attempt) joinSegments(ctx context.Context, enc sheet.Encoder) error {
	joiner, ok := enc.(sheet.Joiner)
	if !ok {
		return errors.New("the file takes no segments")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	order := make([]int, len(a.segs.index))
	for i := range order {
		order[i] = i
	}
	parts := pool.Map(ctx, pool.New(segmentsAtOnce).Lane(), segmentsAtOnce, each(order), a.obtain)
	chunks := pool.Map(ctx, a.segs.encode, a.cfg.Encode.Limit()+1, a.moves(parts, joiner), func(_ context.Context, m move) (sheet.Chunk, error) {
		c, err := joiner.Move(m.Move)
		if err == nil && c.First != m.guess && a.job.Request.Format == sheet.XLSX {
			m.moved()
		}
		return c, err
	})
	return a.appendAll(enc, chunks, cancel)
}

// move is where a drafted chunk goes.
type move struct {
	sheet.Move
	guess int    // where its draft thought that it would stand
	moved func() // told if that was wrong
}

// moves gives the chunks of the segments their places as the segments come in.
func (a *attempt) moves(parts iter.Seq2[*part, error], joiner sheet.Joiner) iter.Seq2[move, error] {
	return func(yield func(move, error) bool) {
		for p, err := range parts {
			if err != nil {
				yield(move{}, err)
				return
			}
			a.take(p)
			moved := sync.OnceFunc(func() { a.cfg.Segments.Count(SegmentMoved) })
			for _, c := range p.chunks {
				for _, m := range joiner.PlaceChunk(c) {
					if !yield(move{m, c.First, moved}, nil) {
						return
					}
				}
			}
		}
	}
}

// take accounts for a segment that goes into the file.
func (a *attempt) take(p *part) {
	r := &a.receipt
	r.Segments++
	r.Pages += p.Pages
	r.Statements += p.Statements
	r.DeletedMeanwhile += p.Deleted
	widen(&r.FirstPageAt, &r.LastPageAt, p.FirstPageAt, p.LastPageAt)
	a.keys.Or(p.keys)
	if p.Attempt < a.job.Attempt {
		r.SegmentsReused++
		a.cfg.Segments.Count(SegmentReused)
	} else {
		r.PagesFetched += p.Pages
	}
	if p.elsewhere {
		r.SegmentsElsewhere++
	}
	if a.shared != nil {
		a.shared.passed(p.Segment)
	}
}

// obtain gives a segment, from the store or anew.
func (a *attempt) obtain(ctx context.Context, segment int) (*part, error) {
	if a.shared != nil {
		return a.obtainShared(ctx, segment)
	}
	if a.segs.stored[segment] {
		if p, ok := a.read(ctx, segment); ok {
			return p, nil
		}
	}
	return a.makeAndKeep(ctx, segment)
}

// read gives a stored segment, unless there is none that can be used.
func (a *attempt) read(ctx context.Context, segment int) (*part, bool) {
	p, err := a.storedPart(ctx, a.segs, segment)
	if err != nil && ctx.Err() == nil {
		a.cfg.Logger.WarnContext(ctx, "a stored segment is not used", "segment", segment, "snapshot", a.segs.snapshot, "error", err)
	}
	return p, err == nil
}

// makeAndKeep makes a segment and stores it, if the store takes it.
func (a *attempt) makeAndKeep(ctx context.Context, segment int) (*part, error) {
	p, err := a.makePart(ctx, a.segs, segment)
	if err != nil {
		return nil, err
	}
	if !a.segs.refused.Load() {
		if err := a.keepPart(ctx, p); err != nil {
			a.refuse(ctx, fmt.Errorf("keep segment %d: %w", segment, err))
		}
	}
	return p, nil
}

// endSegments removes what is kept of the job if it has ended, also when ctx has.
func (a *attempt) endSegments(ctx context.Context, failed error) {
	if a.cfg.Segments.ResumeRows <= 0 || (a.segs == nil && a.job.Attempt == 1) {
		return
	}
	if errors.Is(failed, ErrNoRoom) && !errors.Is(failed, ErrFenced) {
		a.makeRoom(ctx, failed)
		return
	}
	if failed != nil {
		a.discardEnded(ctx, a.job.ID)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := a.DiscardSegments(ctx, a.job.ID); err != nil {
		a.cfg.Logger.WarnContext(ctx, "what is kept of a job is left to the sweeper", "error", err)
	}
}
