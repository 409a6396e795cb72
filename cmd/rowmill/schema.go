package main

import (
	"context"
	"time"
)

// schemaEvery is how often a worker looks whether the schema has been migrated.
const schemaEvery = time.Second

// awaitSchema waits until the schema is the one that this release needs, so that
// a worker may be started before the migrations have run; false means that ctx
// ended before.
func (a *app) awaitSchema(ctx context.Context) bool {
	ticks := time.NewTicker(schemaEvery)
	defer ticks.Stop()
	for said := false; ; said = true {
		err := a.db.Migrated(ctx)
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			return true
		case !said:
			a.log.WarnContext(ctx, "waiting for the schema", "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticks.C:
		}
	}
}
