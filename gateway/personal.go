package gateway

import (
	"context"

	"rowmill/access"
	"rowmill/audit"
)

// scope gives what the caller of ctx sees, as scopeOf. That personal data were asked
// for in the clear and refused is recorded, as every refusal for want of a permission.
func (o *orders) scope(ctx context.Context, personal bool) (access.Scope, error) {
	scope, err := scopeOf(ctx, personal)
	if err == nil {
		return scope, nil
	}
	if notKept := o.record(ctx, audit.Event{Action: audit.Deny, Detail: string(access.ReadPersonal)}); notKept != nil {
		return access.Scope{}, notKept
	}
	return access.Scope{}, err
}
