package gateway

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"rowmill/access"
	"rowmill/audit"
)

// record keeps an event of the call of ctx: who, when and from where are added.
func (s *Server) record(ctx context.Context, e audit.Event) error {
	if s.cfg.Audit == nil {
		return nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make an event id: %w", err)
	}
	call := requestOf(ctx)
	caller, _ := access.From(ctx)
	e.ID, e.At = id.String(), s.cfg.Now().UTC()
	e.Actor, e.ActorName = caller.Subject, caller.Name
	e.Address, e.UserAgent, e.RequestID = call.address, call.userAgent, call.id
	if err := s.cfg.Audit.Record(ctx, e); err != nil {
		return fmt.Errorf("record %s in the audit: %w", e.Action, err)
	}
	return nil
}
