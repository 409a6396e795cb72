package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// goroutines counts those of a process: all, and the product's own and its queue's,
// which do not come and go with idle connections.
type goroutines struct{ all, own int }

var goroutineGroup = regexp.MustCompile(`(?m)^(\d+) @`)

// unkept leaves no idle connection, which would be a goroutine on both its ends.
var unkept = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func goroutinesOf(ctx context.Context, m *member) (n goroutines, err error) {
	addr, err := m.process.Addr(ctx, "admin")
	if err != nil {
		return n, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/debug/pprof/goroutine?debug=1", nil)
	if err != nil {
		return n, err
	}
	resp, err := unkept.Do(req)
	if err != nil {
		return n, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return n, err
	}
	for group := range strings.SplitSeq(string(text), "\n\n") {
		count := goroutineGroup.FindStringSubmatch(group)
		if count == nil {
			continue
		}
		k, err := strconv.Atoi(count[1])
		if err != nil {
			return n, err
		}
		n.all += k
		if strings.Contains(group, "rowmill/") || strings.Contains(group, "asynq") {
			n.own += k
		}
	}
	return n, nil
}

// measureIdle notes how many goroutines each role has that has worked and is idle.
func (c *campaign) measureIdle(t *testing.T) {
	t.Helper()
	for range 5 {
		for _, m := range c.members {
			n, err := goroutinesOf(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			c.idle[m.role] = goroutines{max(n.all, c.idle[m.role].all), max(n.own, c.idle[m.role].own)}
		}
	}
}

// moreConnections is how many goroutines more than when it was measured idle
// connections may take: two for each of HTTP, one for each of SQL.
const moreConnections = 60

// noGoroutines is an error while a process has more goroutines than when it was idle.
func (c *campaign) noGoroutines(ctx context.Context) (err error) {
	for name, m := range c.members {
		idle, measured := c.idle[m.role]
		if !measured {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		n, countErr := goroutinesOf(ctx, m)
		cancel()
		if err = errors.Join(err, countErr); n.own > idle.own || n.all > idle.all+moreConnections {
			err = errors.Join(err, fmt.Errorf("%s has %d goroutines, %d of them its own; idle it had %d and %d", name, n.all, n.own, idle.all, idle.own))
		}
	}
	return err
}
