package export

import (
	"context"

	"rowmill/export/sheet"
)

// Measures tells what finished exports have cost.
type Measures interface {
	Measured(ctx context.Context, dataset string, format sheet.Format) ([]Measured, error)
}

// roomMargin is by how much more room is taken than a file is expected to need: an
// export of wider columns than the last ones fits all the same, and what is left
// over is given back.
const roomMargin = 1.25

// fileMeta tells the store what file comes, as far as it is known once the snapshot
// has been taken.
func (a *attempt) fileMeta(ctx context.Context) FileMeta {
	r := a.job.Request
	rates := DefaultRates(r.Format)
	if a.cfg.Measures != nil {
		past, err := a.cfg.Measures.Measured(ctx, r.Dataset, r.Format)
		if err != nil {
			a.cfg.Logger.WarnContext(ctx, "what exports cost is not known; the defaults are taken", "error", err)
		}
		rates = RatesOf(r.Format, past)
	}
	e := rates.Estimate(r.Format, a.snapshot.Total, len(r.Columns))
	return FileMeta{ContentType: r.Format.ContentType(), Expected: int64(float64(e.Bytes) * roomMargin)}
}
