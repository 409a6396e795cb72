package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"rowmill/export"
	"rowmill/export/sheet"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
	"rowmill/reservation/reservationhttp"
)

// Names of the stages, in the order of the path.
const (
	stageSQL     = "SQL + scan"
	stageWrite   = "wire encode"
	stageHTTP    = "HTTP"
	stageRead    = "wire decode"
	stageEncode  = "encode (excelize)"
	stageDeflate = "deflate"
	stageJoin    = "join, hash"
	stageVerify  = "verify"
	stagePublish = "publish"
)

var stageNames = []string{stageSQL, stageWrite, stageHTTP, stageRead, stageEncode, stageDeflate, stageJoin, stageVerify, stagePublish}

// pass drives the product's functions by hand, a page at a time, so that each
// can be measured alone and no more than a page is held.
type pass struct {
	*bench
	fields     []reservation.Field
	costs      map[string]*Cost
	peaks      map[string]int64
	statements int64
	wire       int64
	server     *relay
	enc        sheet.Encoder
}

// stages measures each stage alone; of several runs the mean counts.
func (b *bench) stages(ctx context.Context) ([]Stage, error) {
	fields, err := reservation.FieldsOf(b.request.Columns)
	if err != nil {
		return nil, err
	}
	p := &pass{bench: b, fields: fields, costs: map[string]*Cost{}, peaks: map[string]int64{}}
	for _, name := range stageNames {
		p.costs[name] = &Cost{}
	}
	for n := range b.cfg.Repeat {
		b.note(fmt.Sprintf("each stage alone (run %d of %d)", n+1, b.cfg.Repeat))
		if err := p.run(ctx); err != nil {
			return nil, fmt.Errorf("measure the stages: %w", err)
		}
	}
	return p.result(), nil
}

func (p *pass) result() []Stage {
	runs := float64(p.cfg.Repeat)
	per1000 := func(x float64) float64 { return x * 1000 / float64(p.cfg.Rows) / runs }
	stages := make([]Stage, len(stageNames))
	for i, name := range stageNames {
		c := p.costs[name]
		stages[i] = Stage{
			Name: name, WallMillis: per1000(millis(c.Wall)), CPUMillis: per1000(millis(c.CPU)),
			Allocs: per1000(float64(c.Allocs)), AllocBytes: per1000(float64(c.AllocBytes)), PeakBytes: p.peaks[name],
		}
		switch name {
		case stageSQL:
			stages[i].Statements = p.statements / int64(p.cfg.Repeat)
		case stageHTTP:
			stages[i].WireBytes = per1000(float64(p.wire))
		}
	}
	return stages
}

// in measures f as work of the stage.
func (p *pass) in(stage string, f func() error) error {
	c, err := measure(f)
	p.charge(stage, c)
	return err
}

// charge adds what a piece of the stage took, and looks at the memory held now.
func (p *pass) charge(stage string, c Cost) {
	p.costs[stage].add(c)
	p.peaks[stage] = max(p.peaks[stage], telemetry.HeldMemory())
}

func (p *pass) run(ctx context.Context) (err error) {
	p.server, err = newRelay(ctx, p.bench)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.server.close()) }()
	path := filepath.Join(p.dir, "stages.xlsx")
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close(), os.Remove(path)) }()
	file := newHashed(out)
	spec, err := p.spec()
	if err != nil {
		return err
	}
	if p.enc, err = sheet.New(file, spec); err != nil {
		return err
	}
	ids, err := p.snapshot(ctx)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(ids, p.cfg.PageSize) {
		if err := p.page(ctx, page); err != nil {
			return err
		}
	}
	if err := p.in(stageJoin, func() error { return p.enc.Close(sheet.Info{Title: "Export info"}) }); err != nil {
		return err
	}
	return p.store(ctx, out, file)
}

// spec is the file's, as export.Runner makes it from the request.
func (p *pass) spec() (sheet.Spec, error) {
	zone, err := time.LoadLocation(p.request.TimeZone)
	if err != nil {
		return sheet.Spec{}, fmt.Errorf("load the time zone: %w", err)
	}
	d := reservationhttp.NewDataset(nil, p.cfg.PageSize)
	spec := sheet.Spec{Format: p.request.Format, Name: d.Title(p.request.Language), Location: zone}
	for _, key := range p.request.Columns {
		c, ok := d.Column(key)
		if !ok {
			return sheet.Spec{}, fmt.Errorf("there is no column %q", key)
		}
		spec.Columns = append(spec.Columns, c.Sheet(p.request.Language))
	}
	return spec, nil
}

func (p *pass) snapshot(ctx context.Context) (ids []int64, err error) {
	sort, err := reservation.ParseSort(p.request.Sort, p.request.Order)
	if err != nil {
		return nil, err
	}
	filter, err := reservation.ParseFilter(p.request.Filter)
	if err != nil {
		return nil, err
	}
	sent := p.db.line.sent.Load()
	err = p.in(stageSQL, func() error {
		_, err := p.bench.store.Snapshot(ctx, reservation.Query{Filter: filter, Sort: sort, Scope: inTheClear}, func(run []int64) error {
			ids = append(ids, run...)
			return nil
		})
		return err
	})
	p.statements += p.db.line.sent.Load() - sent
	return ids, err
}

// page takes a page of ids through the stages up to the file.
func (p *pass) page(ctx context.Context, ids []int64) error {
	var read reservation.Batch
	sent := p.db.line.sent.Load()
	err := p.in(stageSQL, func() (err error) {
		read, err = p.bench.store.Batch(ctx, inTheClear, ids, p.fields)
		return err
	})
	p.statements += p.db.line.sent.Load() - sent
	if err != nil {
		return err
	}
	batch, err := p.transport(ctx, ids, read)
	if err != nil {
		return err
	}
	for _, span := range p.enc.Place(batch.Rows) {
		chunk, err := p.chunk(span)
		if err != nil {
			return err
		}
		if err := p.in(stageJoin, func() error { return p.enc.Append(chunk) }); err != nil {
			return err
		}
	}
	return nil
}

// chunk encodes a span; what deflating it takes is measured by deflating its
// XML once more, and taken off.
func (p *pass) chunk(s sheet.Span) (chunk sheet.Chunk, err error) {
	both, err := measure(func() (err error) {
		chunk, err = p.enc.Encode(s)
		return err
	})
	if err != nil {
		return chunk, err
	}
	xml, err := inflate(chunk)
	if err != nil {
		return chunk, err
	}
	deflate, err := measure(func() error { return deflateAgain(xml) })
	p.charge(stageDeflate, deflate)
	p.charge(stageEncode, both.minus(deflate))
	return chunk, err
}

// store takes the finished file through publish and verify.
func (p *pass) store(ctx context.Context, out *os.File, written *hashed) error {
	const key = "exports/stages.1.xlsx"
	err := p.in(stagePublish, func() error {
		return p.files.Put(ctx, key, export.FileMeta{ContentType: sheet.XLSX.ContentType(), Expected: written.size}, copyOf(out, written.size))
	})
	if err != nil {
		return err
	}
	return errors.Join(p.in(stageVerify, func() error { return p.verify(ctx, key, written) }), p.files.Delete(ctx, key))
}

// verify reads the file back as the product does: its hash, then its rows.
func (p *pass) verify(ctx context.Context, key string, written *hashed) (err error) {
	var file export.Reader
	if file, err = p.files.Open(ctx, key); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := written.check(file); err != nil {
		return err
	}
	found, err := sheet.Verify(ctx, sheet.XLSX, file, file.Size())
	if err == nil && found.Rows() != int64(p.cfg.Rows) {
		err = fmt.Errorf("the file has %d rows, not %d", found.Rows(), p.cfg.Rows)
	}
	return err
}
