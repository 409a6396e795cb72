package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"rowmill/internal/httpedge"
)

// newAPI makes huma's side of the gateway. The document is an operation of its
// own, so that it lists itself too.
func newAPI(s *Server) huma.API {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "Rowmill", Version: "1",
			Description: "Lists reservations, and exports exactly the listed rows to Excel or CSV files.",
		},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer":  {Type: "http", Scheme: "bearer"},
				"session": {Type: "apiKey", In: "cookie", Name: "rowmill_session", Description: "Of a browser that has signed in; by https its name starts with __Host-"},
			},
		},
	}
	if s.cfg.BaseURL != "" {
		doc.Servers = []*huma.Server{{URL: s.cfg.BaseURL}}
	}
	api := humaecho.New(s.echo, huma.Config{
		OpenAPI: doc, Formats: huma.DefaultFormats, DefaultFormat: "application/json",
		Transformers: []huma.Transformer{ownProblems},
	})
	api.UseMiddleware(plainly, func(ctx huma.Context, next func(huma.Context)) {
		next(huma.WithValue(ctx, serverKey{}, s))
	})
	return api
}

// register adds an operation. Its errors go through the one mapper; statuses are
// those it may answer them with.
func register[I, O any](s *Server, op huma.Operation, handle func(context.Context, *I) (*O, error), statuses ...int) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	if !openPaths[op.Path] && op.Path != linkPath {
		statuses = append(statuses, http.StatusTooManyRequests) // see admit
	}
	problem := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	s.rule(&op)
	s.operations[routeOf(op.Method, op.Path)] = op.OperationID
	if len(needs[op.OperationID]) > 0 {
		statuses = append(statuses, http.StatusForbidden, http.StatusServiceUnavailable)
	}
	for _, status := range statuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{httpedge.ProblemMedia: {Schema: problem}},
		}
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			p := problemOf(ctx, err)
			s.report(ctx, p, err)
			return nil, p
		}
		return out, nil
	})
}

func (s *Server) routes() {
	s.identityRoutes()
	s.exportRoutes()
	s.reservationRoutes()
	s.datasetRoutes()
	s.auditRoutes()
	s.homeRoutes()
	s.healthRoutes()
	s.pageRoutes()
	s.documentRoute()
	schemas := s.api.OpenAPI().Components.Schemas.Map()
	// huma registers its own error model, which no answer of ours has.
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	for name, schema := range schemas {
		if name != "Order" && name != "HomeChange" && schema.AdditionalProperties == false {
			schema.AdditionalProperties = nil // an answer may gain a property; only input is closed
		}
	}
}

// bytesOutput is an answer that is made already.
type bytesOutput struct {
	ContentType  string `header:"Content-Type" hidden:"true"`
	CacheControl string `header:"Cache-Control" hidden:"true"`
	Body         []byte
}

func (s *Server) documentRoute() {
	document := sync.OnceValues(func() ([]byte, error) { return json.Marshal(s.api.OpenAPI()) })
	register(s, huma.Operation{
		OperationID: "get-openapi", Method: http.MethodGet, Path: "/openapi.json", Tags: []string{"About"},
		Summary:   "This document",
		Responses: response("The OpenAPI 3.1 document", "application/json", &huma.Schema{Type: huma.TypeObject}),
	}, func(context.Context, *struct{}) (*bytesOutput, error) {
		b, err := document()
		if err != nil {
			return nil, fmt.Errorf("write the OpenAPI document: %w", err)
		}
		return &bytesOutput{ContentType: "application/json", CacheControl: "no-cache", Body: b}, nil
	}, http.StatusInternalServerError)
}

// response documents an answer of 200.
func response(what, contentType string, schema *huma.Schema) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: what,
		Content:     map[string]*huma.MediaType{contentType: {Schema: schema}},
	}}
}

func text(format string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Format: format} }

// header documents a header of an answer.
func header(what string) *huma.Param {
	return &huma.Param{Description: what, Schema: text("")}
}
