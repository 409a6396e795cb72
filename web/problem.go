package web

import (
	"context"
	"errors"
	"net/http"

	"rowmill/internal/fault"
	"rowmill/reservation"
)

// problem is a failure in the reader's words.
type problem struct {
	Kind    string // chooses heading and advice
	Detail  string // the failure's own words, in English
	Missing string // the permission that was wanted
	Items   []problemItem
}

type problemItem struct{ Name, Detail string }

var statusOf = map[fault.Kind]int{
	fault.Invalid: http.StatusBadRequest, fault.NotFound: http.StatusNotFound, fault.Conflict: http.StatusConflict,
	fault.Forbidden: http.StatusForbidden, fault.Gone: http.StatusGone,
	fault.Unauthorized: http.StatusUnauthorized, fault.TooMany: http.StatusTooManyRequests,
	fault.Unavailable: http.StatusServiceUnavailable, fault.Overloaded: http.StatusServiceUnavailable,
}

// fail makes the whole page one that tells err.
func (p *pages) fail(ctx context.Context, f *frame, err error) {
	problem, status := p.problem(ctx, f.speech, err)
	f.View, f.Page, f.Status, f.Title = "problem", problem, status, f.T("problem."+problem.Kind)
}

// problem tells err and logs what the reader must not see.
func (p *pages) problem(ctx context.Context, s speech, err error) (*problem, int) {
	if refusal, ok := errors.AsType[denied](err); ok {
		return &problem{Kind: "forbidden", Missing: string(refusal.permission)}, http.StatusForbidden
	}
	kind := fault.KindOf(err)
	status, told := statusOf[kind]
	if !told {
		kind, status = fault.Internal, http.StatusInternalServerError
	}
	if status >= http.StatusInternalServerError && ctx.Err() == nil {
		p.cfg.Logger.ErrorContext(ctx, "page failed", "kind", kind.String(), "error", err)
	}
	name := kind.String()
	if kind == fault.Overloaded {
		name = fault.Unavailable.String()
	}
	shown := &problem{Kind: name}
	if told {
		shown.Detail = fault.Message(err)
	}
	if e, ok := fault.As(err); ok {
		for _, field := range e.Fields {
			shown.Items = append(shown.Items, problemItem{Name: s.parameter(field.Name), Detail: field.Detail})
		}
	}
	return shown, status
}

// parameter names a parameter of the list as a person reads it.
func (s speech) parameter(name string) string {
	switch name {
	case "q", "_sort", "_order", "_fields", "_page", "_limit":
		return s.T("parameter." + name)
	}
	if field, op, ok := splitParameter(name); ok {
		if op == reservation.Equal {
			return s.FieldTitle(field)
		}
		return s.FieldTitle(field) + " " + s.T("op."+string(op))
	}
	return name
}
