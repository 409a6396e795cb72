package web

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"rowmill/access"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// choiceFields are the filters whose values are offered.
var choiceFields = []string{"property", "channel"}

const (
	choiceAge    = 5 * time.Minute
	choiceRows   = 500 // of each end of the list
	choiceScopes = 256 // remembered at once
)

// choices offers values for a filter, found in the oldest and the newest rows
// that the caller sees. They are suggestions: any value may be typed.
type choices struct {
	cfg Config

	mu   sync.Mutex
	kept map[string]offer // by the properties seen
}

type offer struct {
	at     time.Time
	values map[string][]string // by field
}

func newChoices(cfg Config) *choices { return &choices{cfg: cfg, kept: map[string]offer{}} }

// of gives the values by field. Without an answer there is nothing to offer.
func (c *choices) of(ctx context.Context, scope access.Scope) map[string][]string {
	scope.Personal = false
	key, now := fmt.Sprint(scope.Properties == nil, scope.Properties), c.cfg.Now()
	c.mu.Lock()
	known, ok := c.kept[key]
	c.mu.Unlock()
	if ok && now.Sub(known.at) < choiceAge {
		return known.values
	}
	values, err := c.read(ctx, scope)
	if err != nil {
		c.cfg.Logger.WarnContext(ctx, "values for filters not found", "error", err)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) >= choiceScopes {
		clear(c.kept)
	}
	c.kept[key] = offer{at: now, values: values}
	return values
}

func (c *choices) read(ctx context.Context, scope access.Scope) (map[string][]string, error) {
	fields, err := reservation.FieldsOf(choiceFields)
	if err != nil {
		return nil, err
	}
	found := make([]map[string]bool, len(fields))
	for i := range found {
		found[i] = map[string]bool{}
	}
	for _, desc := range []bool{false, true} {
		q := reservation.Query{Sort: reservation.Sort{Field: "id", Desc: desc}, Scope: scope}
		list, err := c.cfg.Reservations.List(ctx, q, reservation.Window{Limit: choiceRows}, fields, false)
		if err != nil {
			return nil, err
		}
		for _, row := range list.Rows {
			for i, v := range row.Values {
				if v.Kind() == table.KindText && v.Text() != "" {
					found[i][v.Text()] = true
				}
			}
		}
	}
	values := map[string][]string{}
	for i, f := range fields {
		values[f.Key] = slices.Sorted(maps.Keys(found[i]))
	}
	return values, nil
}
