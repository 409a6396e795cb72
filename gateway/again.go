package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/export"
	"rowmill/internal/fault"
)

// exportAgain places the order of a job that has ended once more, under what the
// caller may do and the catalog has now.
func (s *Server) exportAgain(ctx context.Context, in *jobInput) (*createOutput, error) {
	job, err := s.job(ctx, in.ID)
	switch {
	case err != nil:
		return nil, err
	case !job.Status.Final():
		return nil, fault.New(fault.Conflict, "The export is %s: wait for it to end, or cancel it.", job.Status)
	}
	order := orderOf(job)
	request, wrong := s.orders.request(order)
	if len(wrong) > 0 {
		fields := make([]fault.Field, len(wrong))
		for i, w := range wrong {
			fields[i] = fault.Field{Name: w.Name, Detail: w.Message}
		}
		return nil, fault.InvalidFields("The export cannot be made again as it was.", fields...)
	}
	return s.createExport(ctx, &createInput{Body: order, request: request})
}

// orderOf gives the order that the job was made of.
func orderOf(job export.Job) Order {
	r := job.Request
	o := Order{
		Dataset: r.Dataset, Format: r.Format, Sort: r.Sort, Order: r.Order, Columns: r.Columns,
		Language: r.Language, TimeZone: r.TimeZone, FileName: r.FileName,
		Personal: job.Scope.Personal, Reason: r.Reason,
	}
	for name, values := range r.Filter {
		if o.Filter == nil {
			o.Filter = make(map[string]Values, len(r.Filter))
		}
		o.Filter[name] = values
	}
	return o
}

func (s *Server) againRoutes() {
	register(s, huma.Operation{
		OperationID: "repeat-export", Method: http.MethodPost, Path: exportsPath + "/{id}/again", Tags: []string{"Exports"},
		DefaultStatus: http.StatusAccepted, Summary: "Ask for the same export again", RejectUnknownQueryParameters: true,
		Description: "Makes a new job of the request of one that has ended, however it did. Its rows are those that match now. One that is alive is a conflict. The bounds are those of any other order.",
	}, s.exportAgain, 400, 401, 403, 404, 409, 500, 503)
}
