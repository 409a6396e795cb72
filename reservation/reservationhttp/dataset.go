package reservationhttp

import (
	"context"
	"io"
	"net/http"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/reservation"
)

// DatasetName is the name under which reservations are exported.
const DatasetName = "reservations"

// DefaultPageSize is the ids of a page: past a thousand a page costs hardly
// less, and holds memory longer.
const DefaultPageSize = 1000

// NewDataset returns the reservations as a dataset, read through the client in
// pages of pageSize ids: 1 to reservation.MaxBatch, or 0 for DefaultPageSize.
func NewDataset(c *Client, pageSize int) export.Dataset {
	if pageSize < 1 {
		pageSize = DefaultPageSize
	}
	return export.Dataset{
		Name:     DatasetName,
		Titles:   map[string]string{"en": "Reservations", "ko": "예약"},
		Columns:  columns(),
		Defaults: reservation.DefaultFields(),
		Sort:     reservation.DefaultSort.Field,
		Check: func(r export.Request) error {
			_, err := queryRequest{filter: r.Filter, sort: r.Sort, order: r.Order}.query()
			return err
		},
		Source: &source{client: c, pageSize: min(pageSize, reservation.MaxBatch)},
	}
}

func columns() []export.Column {
	fields := reservation.Fields()
	columns := make([]export.Column, len(fields))
	for i, f := range fields {
		columns[i] = export.Column{
			Key: f.Key, Titles: titlesOf(f), Type: f.Type, Scale: f.Scale,
			Width: f.Width, Format: f.Format, Fields: []string{f.Key}, Personal: string(f.Personal),
		}
	}
	return columns
}

// source is the reservations as the export pipeline reads them.
type source struct {
	client   *Client
	pageSize int
}

// Snapshot freezes the ids that match. A stream that breaks is read again as a whole.
func (s *source) Snapshot(ctx context.Context, scope access.Scope, r export.Request) (export.Snapshot, error) {
	q, err := queryRequest{scopeRequest{scope}, r.Filter, r.Sort, r.Order}.query()
	if err != nil {
		return export.Snapshot{}, err
	}
	var snapshot export.Snapshot
	err = s.client.stream(ctx, "the list of ids", pathSnapshot, queryOf(q).encode(), func(body io.Reader, _ http.Header) error {
		p := packer{size: s.pageSize}
		end, err := readSnapshot(body, p.add)
		p.cut()
		snapshot = export.Snapshot{At: end.at, Total: end.total, Pages: p.pages, Statements: end.statements}
		return err
	})
	if err != nil {
		return export.Snapshot{}, err
	}
	return snapshot, nil
}

// Fetch reads the rows of a page of the snapshot.
func (s *source) Fetch(ctx context.Context, scope access.Scope, t export.PageToken, keys []string) (export.Page, error) {
	fields, err := reservation.FieldsOf(keys)
	if err != nil {
		return export.Page{}, err
	}
	ids, err := unpack(t)
	if err != nil {
		return export.Page{}, fault.Wrap(err, fault.Internal, "A page of the snapshot cannot be read.")
	}
	batch, statements, err := s.client.Batch(ctx, scope, ids, fields)
	if err != nil {
		return export.Page{}, err
	}
	return export.Page{Rows: batch.Rows, Deleted: len(batch.Absent), Statements: statements}, nil
}
