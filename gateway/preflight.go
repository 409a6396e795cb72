package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/export"
	"rowmill/export/sheet"
)

// Preflight is what an order would come to.
type Preflight struct {
	Rows            int64     `json:"rows" doc:"That match now"`
	Sheets          int       `json:"sheets" doc:"Of rows; 1 for CSV"`
	Bytes           int64     `json:"bytes" doc:"The file's size, from what the last exports came to"`
	Seconds         float64   `json:"seconds" doc:"How long it takes once a worker has it, from what the last exports took"`
	PersonalColumns []string  `json:"personal_columns" nullable:"false" doc:"Keys of the asked columns that hold personal data"`
	ReasonRequired  bool      `json:"reason_required" doc:"The order asks for personal data in the clear: it needs a reason"`
	MaxRows         int64     `json:"max_rows" doc:"The most rows of one export of yours; 0: no bound"`
	Warnings        []Warning `json:"warnings" nullable:"false"`
}

// Warning is a thing to know before the order is sent.
type Warning struct {
	Code    string `json:"code" enum:"many-sheets,too-many-rows,no-worker,no-rows" doc:"Stable"`
	Message string `json:"message"`
	Suggest string `json:"suggest" doc:"A format that would be better: csv, or nothing"`
}

type preflightInput struct {
	Body Order

	request export.Request
}

// Resolve checks the order as create-export does.
func (in *preflightInput) Resolve(ctx huma.Context) []error {
	order := createInput{Body: in.Body}
	errs := order.Resolve(ctx)
	in.request = order.request
	return errs
}

type preflightOutput struct{ Body Preflight }

func (s *Server) preflight(ctx context.Context, in *preflightInput) (*preflightOutput, error) {
	r := in.request
	scope, err := scopeOf(ctx, in.Body.Personal)
	if err == nil {
		err = checkScope(r, scope)
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.orders.count(ctx, r, scope)
	if err != nil {
		return nil, fmt.Errorf("count the rows of a preflight: %w", err)
	}
	past, err := s.cfg.Board.Measured(ctx, r.Dataset, r.Format)
	if err != nil {
		s.log(ctx).WarnContext(ctx, "what exports cost is not known; the defaults are taken", "error", err)
	}
	e := export.RatesOf(r.Format, past).Estimate(r.Format, rows, len(r.Columns))
	p := Preflight{
		Rows: rows, Sheets: e.Sheets, Bytes: e.Bytes, Seconds: e.Seconds,
		PersonalColumns: append([]string{}, s.orders.personalColumns(r)...), MaxRows: s.orders.maxRows(ctx),
	}
	p.ReasonRequired = in.Body.Personal && len(p.PersonalColumns) > 0
	p.Warnings = s.warnings(ctx, p)
	return &preflightOutput{Body: p}, nil
}

func (s *Server) warnings(ctx context.Context, p Preflight) []Warning {
	found := []Warning{}
	if p.Rows == 0 {
		found = append(found, Warning{Code: "no-rows", Message: "No row matches: the file would hold its head alone."})
	}
	if p.Sheets > 1 {
		found = append(found, Warning{Code: "many-sheets", Suggest: string(sheet.CSV),
			Message: fmt.Sprintf("The rows take %d sheets, as a sheet holds %d. A CSV file has them in one piece.", p.Sheets, sheet.MaxDataRows)})
	}
	if p.MaxRows > 0 && p.Rows > p.MaxRows {
		found = append(found, Warning{Code: "too-many-rows", Message: tooManyRows(p.Rows, p.MaxRows) + "."})
	}
	workers, err := s.cfg.Board.Workers(ctx, s.cfg.Now())
	switch {
	case err != nil:
		s.log(ctx).WarnContext(ctx, "workers not known", "error", err)
	case workers.Alive == 0:
		found = append(found, Warning{Code: "no-worker", Message: "No worker is running: the export would start as soon as one runs."})
	}
	return found
}

func (s *Server) preflightRoutes() {
	register(s, huma.Operation{
		OperationID: "preflight-export", Method: http.MethodPost, Path: exportsPath + "/preflight", Tags: []string{"Exports"},
		MaxBodyBytes: 1 << 20,
		Summary:      "What an export would come to",
		Description:  "Takes an order and makes no job. The rows are counted as for the order itself; size and time are estimates.",
	}, s.preflight, 400, 401, 403, 408, 413, 415, 500, 503)
}
