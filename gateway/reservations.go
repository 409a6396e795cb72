package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

const reservationsPath = "/api/v1/reservations"

// rawQuery is the query of a call whose parameters are the catalog's.
type rawQuery struct{ raw string }

// Resolve keeps the query.
func (q *rawQuery) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	q.raw = u.RawQuery
	return nil
}

type listOutput struct {
	ContentType string `header:"Content-Type" hidden:"true"`
	Total       string `header:"X-Total-Count" doc:"Of all rows that match, on whatever page. Up to 10,000 it was counted for this answer, a larger one at most 30 s ago"`
	Exposed     string `header:"Access-Control-Expose-Headers"`
	Body        []byte
}

func (s *Server) listReservations(ctx context.Context, in *rawQuery) (*listOutput, error) {
	q, err := parseList(in.raw)
	if err != nil {
		return nil, err
	}
	if q.query.Scope, err = s.orders.scope(ctx, q.personal); err != nil {
		return nil, err
	}
	if err := q.query.Check(); err != nil {
		return nil, err
	}
	list, err := s.cfg.Reservations.List(ctx, q.query, q.window, q.fields, true)
	if err != nil {
		return nil, fmt.Errorf("list reservations: %w", err)
	}
	if !q.bounded && list.Total > int64(len(list.Rows)) {
		return nil, fault.New(fault.Invalid, "%d reservations match and a page has at most %d: ask for a part, such as _start=0&_end=100.", list.Total, reservation.MaxListLimit)
	}
	return &listOutput{
		ContentType: "application/json",
		Total:       strconv.FormatInt(list.Total, 10),
		Exposed:     strings.Join(exposedHeaders, ", "),
		Body:        appendRows(nil, list.Rows, q.fields),
	}, nil
}

type reservationInput struct {
	ID       int64  `path:"id" minimum:"1"`
	Fields   string `query:"_fields" doc:"Keys of fields, separated by commas. Default: all but best_coupon and coupon_price"`
	Personal bool   `query:"personal" doc:"Personal data in the clear; needs pii:read. Default: masked"`
}

func (s *Server) getReservation(ctx context.Context, in *reservationInput) (*bytesOutput, error) {
	p := listParams{params: map[string][]string{}}
	if in.Fields != "" {
		p.params["_fields"] = []string{in.Fields}
	}
	fields := p.fields("_fields", allFields())
	if len(p.wrong) > 0 {
		return nil, fault.InvalidFields("The fields are not valid.", p.wrong...)
	}
	scope, err := s.orders.scope(ctx, in.Personal)
	if err != nil {
		return nil, err
	}
	one := reservation.Query{Scope: scope, Sort: reservation.DefaultSort, Filter: reservation.Filter{Conditions: []reservation.Condition{
		{Field: "id", Op: reservation.Equal, Values: []table.Value{table.IntegerOf(in.ID)}},
	}}}
	list, err := s.cfg.Reservations.List(ctx, one, reservation.Window{Limit: 1}, fields, false)
	switch {
	case err != nil:
		return nil, fmt.Errorf("get reservation %d: %w", in.ID, err)
	case len(list.Rows) == 0:
		return nil, fault.New(fault.NotFound, "There is no reservation %d.", in.ID)
	}
	return &bytesOutput{ContentType: "application/json", Body: appendRow(nil, list.Rows[0], fields)}, nil
}

func allFields() (keys []string) {
	for _, f := range reservation.StoredFields() {
		keys = append(keys, f.Key)
	}
	return keys
}

func (s *Server) reservationRoutes() {
	row := rowSchema()
	list := response("The rows of the page; none if it starts past the end", "application/json", &huma.Schema{Type: huma.TypeArray, Items: row})
	register(s, huma.Operation{
		OperationID: "list-reservations", Method: http.MethodGet, Path: reservationsPath, Tags: []string{"Reservations"},
		Summary: "List reservations",
		Description: "In json-server's dialect, so that refine's simple-rest and react-admin's ra-data-json-server work against it. A page has at most " +
			strconv.Itoa(reservation.MaxListLimit) + " rows. Without a page every row that matches is given, or the list is refused if they are more: " +
			"never are rows left out silently. Where a page past the first " + strconv.Itoa(reservation.LongList) + " rows starts may be as of " +
			reservation.LongListAge.String() + " ago; an export has every row. Decimals are texts, so that no digit is lost.",
		Parameters: listParameters(), Responses: list,
	}, s.listReservations, 400, 401, 403, 414, 500, 503)
	register(s, huma.Operation{
		OperationID: "get-reservation", Method: http.MethodGet, Path: reservationsPath + "/{id}", Tags: []string{"Reservations"},
		Summary: "A reservation", RejectUnknownQueryParameters: true,
		Responses: response("The reservation", "application/json", row),
	}, s.getReservation, 400, 401, 403, 404, 500, 503)
}

// rowSchema documents a row by the catalog.
func rowSchema() *huma.Schema {
	row := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{}, Required: []string{"id"}}
	for _, f := range reservation.Fields() {
		field := &huma.Schema{Description: f.Titles.English, Nullable: f.Key != "id", Type: huma.TypeString}
		switch f.Type {
		case table.Integer:
			field.Type, field.Format = huma.TypeInteger, "int64"
		case table.Bool:
			field.Type = huma.TypeBoolean
		case table.Date:
			field.Format = "date"
		case table.Time:
			field.Format = "date-time"
		case table.Decimal:
			field.Pattern = `^-?[0-9]+\.[0-9]+$`
		}
		row.Properties[f.Key] = field
	}
	return row
}

// listParameters documents the list's parameters by what its parser takes.
func listParameters() []*huma.Param {
	number := func(name, what string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Description: what, Schema: &huma.Schema{Type: huma.TypeInteger}}
	}
	params := []*huma.Param{
		number("_start", "The first row, from 0. With _end or _limit"),
		number("_end", "The row after the last"),
		number("_page", "The page, from 1. With _limit, or pages have 10 rows"),
		number("_limit", "Rows of a page"),
		{Name: "_sort", In: "query", Description: "A field that the list can be sorted by. Default: id", Schema: text("")},
		{Name: "_order", In: "query", Description: "Default: asc", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"asc", "desc", "ASC", "DESC"}}},
		{Name: "_fields", In: "query", Description: "Keys of fields, separated by commas; id always comes along", Schema: text("")},
		{Name: "personal", In: "query", Description: "Personal data in the clear, which needs pii:read; without it they are masked, and no row can be selected by them", Schema: &huma.Schema{Type: huma.TypeBoolean}},
	}
	explode := true
	for _, name := range filterNames() {
		p := &huma.Param{Name: name, In: "query", Schema: text("")}
		_, isField := reservation.FieldOf(name)
		switch {
		case name == "q":
			p.Description = "What the code or, with personal=true, the guest's name starts with"
		case isField:
			p.Description = "Equal to one of the values"
			p.Explode = &explode
			p.Schema = &huma.Schema{Type: huma.TypeArray, Items: text("")}
		}
		params = append(params, p)
	}
	return params
}
