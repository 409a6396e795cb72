package gateway

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/internal/fault"
)

// CatalogView is a dataset's columns.
type CatalogView struct {
	Dataset string       `json:"dataset"`
	Columns []ColumnView `json:"columns" nullable:"false"`
}

// ColumnView is a column that an export can have.
type ColumnView struct {
	Key     string            `json:"key"`
	Titles  map[string]string `json:"titles" doc:"By language"`
	Type    string            `json:"type" enum:"text,code,integer,decimal,date,time,bool"`
	Default bool              `json:"default" doc:"An export that names no columns has it"`
}

type catalogInput struct {
	Name string `path:"name" maxLength:"64" example:"reservations"`
}

type catalogOutput struct{ Body CatalogView }

func (s *Server) datasetColumns(_ context.Context, in *catalogInput) (*catalogOutput, error) {
	d, ok := s.orders.datasets[in.Name]
	if !ok {
		return nil, fault.New(fault.NotFound, "There is no dataset %q.", in.Name)
	}
	out := &catalogOutput{Body: CatalogView{Dataset: d.Name, Columns: make([]ColumnView, len(d.Columns))}}
	for i, c := range d.Columns {
		out.Body.Columns[i] = ColumnView{Key: c.Key, Titles: c.Titles, Type: c.Type.String(), Default: slices.Contains(d.Defaults, c.Key)}
	}
	return out, nil
}

func (s *Server) datasetRoutes() {
	register(s, huma.Operation{
		OperationID: "list-columns", Method: http.MethodGet, Path: "/api/v1/datasets/{name}/columns", Tags: []string{"Datasets"},
		Summary: "The columns that an export can have", RejectUnknownQueryParameters: true,
	}, s.datasetColumns, 400, 401, 404, 500)
}
