package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"rowmill/access"
	"rowmill/export/sheet"
	"rowmill/internal/fault"
	"rowmill/internal/pool"
	"rowmill/internal/table"
)

// segmented is a job that is cut into segments.
type segmented struct {
	snapshot int // the attempt that took it
	index    []listSegment
	form     string
	tokens   func(segment int) ([]PageToken, error)
	stored   map[int]bool // what lay there when the attempt began

	refused       atomic.Bool // the store takes no segment: none is kept any more
	fetch, encode *pool.Lane
	window        int // pages of a segment that are on their way
}

// querying is what makes a snapshot what it is; formed is what makes its rows the
// bytes that they are. Both are compared, never read: a change of what they hold
// only means that what is stored counts for nothing.
type querying struct {
	Form    int // of the page tokens, in case a release gives them another one
	Dataset string
	Filter  map[string][]string
	Sort    string
	Order   string
	Scope   access.Scope
}

type formed struct {
	querying
	Format   sheet.Format
	Language string
	TimeZone string
	Columns  []sheet.Column
	Fields   []string
	Release  string // hash of a file of one row as this release writes it
}

// tokenForm is raised when a release can no longer read the page tokens of the
// one before.
const tokenForm = 1

func fingerprint(of any) (string, error) {
	b, err := json.Marshal(of)
	if err != nil {
		return "", fmt.Errorf("encode what a job is: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// querying says what the job asked.
func (w *work) querying() querying {
	req := w.job.Request
	return querying{tokenForm, req.Dataset, req.Filter, req.Sort, req.Order, w.job.Scope}
}

// form says what the job's segments are made of and how.
func (w *work) form() (string, error) {
	release, err := releaseForm(w.plan.spec)
	if err != nil {
		return "", err
	}
	req := w.job.Request
	return fingerprint(formed{w.querying(), req.Format, req.Language, req.TimeZone, w.plan.spec.Columns, w.plan.fields, release})
}

// releaseForm hashes a file of no row and a drafted row: a release that writes
// heads, styles or cells in another way, on purpose or by a newer library, does
// not go on with the segments of the one before.
func releaseForm(spec sheet.Spec) (string, error) {
	sum := sha256.New()
	enc, err := sheet.New(sum, spec)
	if err != nil {
		return "", fmt.Errorf("begin a sample of the file: %w", err)
	}
	if err := enc.Close(sheet.Info{Title: "sample", At: time.Unix(0, 0)}); err != nil {
		return "", fmt.Errorf("end a sample of the file: %w", err)
	}
	draft, err := sheet.NewDraft(spec, 0)
	if err != nil {
		return "", fmt.Errorf("draft a sample of the file: %w", err)
	}
	row := table.Row{Key: 1}
	for _, c := range spec.Columns {
		row.Values = append(row.Values, sampleOf(c))
	}
	for _, span := range draft.Place([]table.Row{row}) {
		chunk, err := draft.Encode(span)
		if err != nil {
			return "", fmt.Errorf("encode a sample of the file: %w", err)
		}
		sum.Write(chunk.Data)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func sampleOf(c sheet.Column) table.Value {
	switch c.Type {
	case table.Integer:
		return table.IntegerOf(1)
	case table.Decimal:
		return table.DecimalOf(1, c.Scale)
	case table.Date:
		return table.DateOf(17_000)
	case table.Time:
		return table.TimeOfMicro(1_500_000_000_000_000)
	case table.Bool:
		return table.BoolOf(true)
	default:
		return table.TextOf("a")
	}
}

// makePart fetches and encodes a segment.
func (w *work) makePart(ctx context.Context, s *segmented, segment int) (*part, error) {
	if segment < 0 || segment >= len(s.index) {
		return nil, unusable("the list has no segment %d", segment)
	}
	at := s.index[segment]
	tokens, err := s.tokens(segment)
	if err != nil {
		return nil, fmt.Errorf("read the list of segment %d: %w", segment, err)
	}
	draft, err := sheet.NewDraft(w.plan.spec, at.after)
	if err != nil {
		return nil, fmt.Errorf("begin segment %d: %w", segment, err)
	}
	p := &part{keys: roaring64.New(), partHead: partHead{
		JobID: w.job.ID, Snapshot: s.snapshot, Segment: segment, Attempt: w.job.Attempt, Form: s.form, After: at.after}}
	pages := pool.Map(ctx, s.fetch, s.window, each(tokens), w.fetch)
	spans := func(yield func(sheet.Span, error) bool) {
		for f, err := range pages {
			if err != nil {
				yield(sheet.Span{}, err)
				return
			}
			p.add(f)
			for _, span := range draft.Place(w.plan.project(f.page.Rows)) {
				if !yield(span, nil) {
					return
				}
			}
		}
	}
	chunks := pool.Map(ctx, s.encode, w.cfg.Encode.Limit()+1, spans, func(_ context.Context, s sheet.Span) (sheet.Chunk, error) { return draft.Encode(s) })
	for chunk, err := range chunks {
		if err != nil {
			return nil, fmt.Errorf("segment %d: %w", segment, err)
		}
		p.chunks = append(p.chunks, chunk)
	}
	if p.Rows+p.Deleted != at.rows {
		return nil, fmt.Errorf("segment %d has %d rows in the snapshot, but %d were read and %d are deleted", segment, at.rows, p.Rows, p.Deleted)
	}
	if distinct := p.keys.GetCardinality(); distinct != uint64(p.Rows) {
		return nil, fmt.Errorf("segment %d has %d rows, but only %d different ones", segment, p.Rows, distinct)
	}
	w.cfg.Segments.Count(SegmentMade)
	return p, nil
}

// add accounts for a page.
func (p *part) add(f fetched) {
	widen(&p.FirstPageAt, &p.LastPageAt, f.at, f.at)
	p.Pages++
	p.Statements += f.page.Statements
	p.Deleted += int64(f.page.Deleted)
	for _, row := range f.page.Rows {
		if p.Rows == 0 {
			p.FirstKey = row.Key
		}
		p.Rows, p.LastKey = p.Rows+1, row.Key
		p.keys.Add(uint64(row.Key))
	}
}

// keepPart stores a segment.
func (w *work) keepPart(ctx context.Context, p *part) error {
	size := int64(0)
	for _, c := range p.chunks {
		size += int64(len(c.Data)) + 8*int64(len(c.Bounds))
	}
	if size > maxPart/2 {
		return fault.New(fault.Unavailable, "A segment of %d bytes is too large to be kept.", size)
	}
	return w.cfg.Segments.Files.Put(ctx, partKey(w.job.ID, p.Snapshot, p.Segment), FileMeta{ContentType: chunkType, Expected: size}, func(to io.Writer) error { return writePart(to, p) })
}

// storedPart reads a segment that is stored. One that is absent, broken or made
// otherwise is an error.
func (w *work) storedPart(ctx context.Context, s *segmented, segment int) (p *part, err error) {
	file, err := w.cfg.Segments.Files.Open(ctx, partKey(w.job.ID, s.snapshot, segment))
	if err != nil {
		return nil, fmt.Errorf("open segment %d: %w", segment, err)
	}
	defer func() { _ = file.Close() }() // what was read has been checked
	if p, err = readPart(file, file.Size()); err != nil {
		return nil, err
	}
	at := s.index[segment]
	switch {
	case p.JobID != w.job.ID || p.Snapshot != s.snapshot || p.Segment != segment:
		return nil, unusable("it is segment %d of job %s from attempt %d", p.Segment, p.JobID, p.Snapshot)
	case p.Form != s.form:
		return nil, unusable("segment %d was made of other columns, or in another way", segment)
	case p.After != at.after || p.Rows+p.Deleted != at.rows || p.Pages != int64(at.pages):
		return nil, unusable("segment %d has other rows than the snapshot", segment)
	}
	return p, nil
}

// each gives the values as the inputs of a Map.
func each[T any](values []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}
