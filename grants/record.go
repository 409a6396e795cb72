package grants

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"rowmill/access"
	"rowmill/audit"
)

// System is the actor of what no caller did.
const System = access.System

// Records gives a Config's Record for where no caller is: in a worker, or at an
// operator's command. A nil recorder keeps nothing.
func Records(to audit.Recorder) func(ctx context.Context, e audit.Event) error {
	if to == nil {
		return nil
	}
	return func(ctx context.Context, e audit.Event) error {
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("make an event id: %w", err)
		}
		e.ID, e.At, e.Actor, e.ActorName = id.String(), time.Now().UTC(), System, System
		if err := to.Record(ctx, e); err != nil {
			return fmt.Errorf("record %s in the audit: %w", e.Action, err)
		}
		return nil
	}
}
