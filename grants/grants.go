// Package grants holds exports to what their owners may do now. It keeps each
// caller's grant as it was seen last, and ends the live jobs that a grant no longer
// allows: when the caller comes with a smaller one, before a worker runs the job, and
// when an operator takes everything away.
package grants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/internal/fault"
)

// Store is where grants are kept.
type Store interface {
	// Get gives the subject's grant; one who was never seen is NotFound.
	Get(ctx context.Context, subject string) (access.Grant, error)
	Put(ctx context.Context, g access.Grant) error
}

// Jobs is the part of the job table about jobs that are alive.
type Jobs interface {
	Live(ctx context.Context, requestedBy string) ([]export.Job, error)
	// Revoke cancels a live job and keeps why; changed is false if it was final already.
	Revoke(ctx context.Context, id string, why export.Failure) (job export.Job, changed bool, err error)
}

// Config is what a Keeper needs. Store and Jobs are required.
type Config struct {
	Store Store
	Jobs  Jobs

	// Record keeps the audit's event of a job that ends; if it fails, the job does
	// not end. nil: nothing is kept.
	Record func(ctx context.Context, e audit.Event) error
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now

	// Refresh is after how long an unchanged grant is stored again. Default 1 min.
	Refresh time.Duration
	// Remember is how many subjects' grants are held in memory. Default 10,000.
	Remember int
}

// PermissionLost is the code of the failure of a job that ended because its owner
// may no longer have it.
const PermissionLost = "permission-lost"

// Keeper keeps grants and ends jobs. It is safe for concurrent use.
type Keeper struct {
	cfg  Config
	mu   sync.Mutex
	seen map[string]access.Grant // as the store has them, by subject
}

// New returns a Keeper that remembers nobody yet.
func New(c Config) *Keeper {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Refresh = cmp.Or(c.Refresh, time.Minute)
	c.Remember = cmp.Or(c.Remember, 10_000)
	return &Keeper{cfg: c, seen: map[string]access.Grant{}}
}

// Seen notes what the caller may do now. If that is not what was noted last, their
// live jobs that it does not allow end before Seen returns. An error means that this
// could not be made sure; that an unchanged grant could not be refreshed is none.
func (k *Keeper) Seen(ctx context.Context, p access.Principal) error {
	now := k.cfg.Now().UTC().Truncate(time.Microsecond)
	grant := access.GrantOf(p, now)
	last, known := k.recall(p.Subject)
	same := known && last.Same(grant)
	if same && now.Sub(last.SeenAt) < k.cfg.Refresh {
		return nil
	}
	err := k.cfg.Store.Put(ctx, grant)
	switch {
	case err != nil && same:
		k.cfg.Logger.WarnContext(ctx, "a grant is not refreshed", "subject", p.Subject, "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("keep the caller's grant: %w", err)
	case !same:
		if _, err := k.enforce(ctx, grant); err != nil {
			return err
		}
	}
	k.remember(grant)
	return nil
}

// Permits returns nil if the job's owner may still have it, or Forbidden. An owner
// who was never seen has asked a release that kept no grants, and is let be.
func (k *Keeper) Permits(ctx context.Context, job export.Job) error {
	grant, err := k.cfg.Store.Get(ctx, job.RequestedBy)
	switch {
	case err != nil && fault.KindOf(err) == fault.NotFound:
		return nil
	case err != nil:
		return fmt.Errorf("read the grant of job %s: %w", job.ID, err)
	}
	return grant.Allows(job.Scope)
}

// Holds is as Permits, but who was never seen has nothing.
func (k *Keeper) Holds(ctx context.Context, job export.Job) error {
	grant, err := k.cfg.Store.Get(ctx, job.RequestedBy)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return fmt.Errorf("read the grant of job %s: %w", job.ID, err)
	}
	return grant.Allows(job.Scope) // that of nobody allows nothing
}

// End cancels the job because of why, unless it has ended already.
func (k *Keeper) End(ctx context.Context, job export.Job, why error) error {
	event := audit.Event{
		Action: audit.Revoke, JobID: job.ID, Dataset: job.Request.Dataset, Personal: job.Scope.Personal,
		Detail: fmt.Sprintf("of %s: %s", job.RequestedBy, fault.Message(why)),
	}
	if k.cfg.Record != nil {
		if err := k.cfg.Record(ctx, event); err != nil {
			return fmt.Errorf("end job %s: %w", job.ID, err)
		}
	}
	failure := export.Failure{Code: PermissionLost, Message: "The export ended because its owner may no longer have it. " + fault.Message(why), At: k.cfg.Now()}
	_, changed, err := k.cfg.Jobs.Revoke(ctx, job.ID, failure)
	if err != nil {
		return fmt.Errorf("end job %s: %w", job.ID, err)
	}
	if changed {
		k.cfg.Logger.InfoContext(ctx, "export ended: its owner may no longer have it", "job_id", job.ID, "subject", job.RequestedBy, "reason", why)
	}
	return nil
}

// Empty takes everything from the subject and gives how many of their live jobs
// ended. It holds until the subject is seen with a grant again.
func (k *Keeper) Empty(ctx context.Context, subject string) (ended int, err error) {
	grant := access.Grant{Subject: subject, SeenAt: k.cfg.Now()}
	if last, err := k.cfg.Store.Get(ctx, subject); err == nil {
		grant.Name = last.Name
	} else if fault.KindOf(err) != fault.NotFound {
		return 0, err
	}
	if err := k.cfg.Store.Put(ctx, grant); err != nil {
		return 0, err
	}
	return k.enforce(ctx, grant)
}

// enforce ends the subject's live jobs that the grant does not allow.
func (k *Keeper) enforce(ctx context.Context, g access.Grant) (ended int, err error) {
	live, err := k.cfg.Jobs.Live(ctx, g.Subject)
	if err != nil {
		return 0, fmt.Errorf("read the live jobs of a caller: %w", err)
	}
	var errs []error
	for _, job := range live {
		why := g.Allows(job.Scope)
		if why == nil {
			continue
		}
		if err := k.End(ctx, job, why); err != nil {
			errs = append(errs, err)
			continue
		}
		ended++
	}
	return ended, errors.Join(errs...)
}

func (k *Keeper) recall(subject string) (access.Grant, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g, ok := k.seen[subject]
	return g, ok
}

// remember holds the grant, and forgets others where there are too many: those that
// are due to be stored again anyway, or any one.
func (k *Keeper) remember(g access.Grant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.seen[g.Subject]; !ok && len(k.seen) >= k.cfg.Remember {
		for subject, old := range k.seen {
			if g.SeenAt.Sub(old.SeenAt) >= k.cfg.Refresh {
				delete(k.seen, subject)
			}
		}
		for subject := range k.seen {
			if len(k.seen) < k.cfg.Remember {
				break
			}
			delete(k.seen, subject)
		}
	}
	k.seen[g.Subject] = g
}
