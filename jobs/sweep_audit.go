package jobs

import (
	"context"
	"time"
)

// DefaultAuditRetention is two years, which covers a yearly review of the year before.
const DefaultAuditRetention = 2 * 365 * 24 * time.Hour

// auditBatch is how much one statement removes: enough to be quick, and few
// enough that nobody waits for its locks.
const auditBatch = 500

// sweepAudit removes what has been kept for the time of the audit. What fails is left for
// the next look, and so is what follows it: it may depend on what was removed.
func (s *Sweeper) sweepAudit(ctx context.Context) error {
	now := s.cfg.Now()
	if now.Before(s.auditNext) {
		return nil
	}
	s.auditNext = now.Add(s.cfg.AuditEvery)
	before, total := now.Add(-s.cfg.AuditRetention), 0
	var err error
	for _, kept := range s.cfg.Kept {
		var removed int
		if removed, err = retain(ctx, kept, before); removed > 0 {
			total += removed
		}
		if err != nil {
			break
		}
	}
	if total > 0 {
		s.cfg.Logger.InfoContext(ctx, "old entries were removed", "entries", total, "before", before)
	}
	return err
}

// retain removes batch by batch until nothing old is left.
func retain(ctx context.Context, kept Kept, before time.Time) (total int, err error) {
	for {
		removed, err := kept.Retain(ctx, before, auditBatch)
		total += removed
		if err != nil || removed < auditBatch {
			return total, err
		}
	}
}
