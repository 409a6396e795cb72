package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"

	"rowmill/export"
	"rowmill/internal/exportclient"
)

// settling is what the sweepers and clean-ups get after a round.
const settling = 30 * time.Second

func writeFile(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }

// check holds the round's orders, and all that the product keeps, to what is promised.
func (c *campaign) check(ctx context.Context, t *testing.T, orders []*ordered) (jobs []exportclient.Job) {
	t.Helper()
	for i, o := range orders {
		job, err := c.client(i).Get(ctx, o.job.ID)
		if err != nil {
			c.found.add(t, "%s: job %s cannot be seen: %v", o.key, o.job.ID, err)
			continue
		}
		o.job = job
		jobs = append(jobs, job)
		c.checkEnd(ctx, t, i, o)
	}
	for what, held := range map[string]func(context.Context) error{
		"files of the succeeded jobs and no other": c.filesAreJobs, "multipart uploads": c.noUploads, "leases and slots": c.nothingHeld,
		"tasks": c.noTasks, "temporary files": c.noTemporaries, "goroutines": c.noGoroutines,
	} {
		limit, cancel := context.WithTimeoutCause(ctx, settling, errors.New("and stay so"))
		if err := until(limit, func() error { return held(limit) }); err != nil {
			c.found.add(t, "%s: %v", what, err)
		}
		cancel()
	}
	return jobs
}

// checkEnd holds one job to its promises.
func (c *campaign) checkEnd(ctx context.Context, t *testing.T, n int, o *ordered) {
	t.Helper()
	ids, err := c.texts(ctx, "SELECT id FROM rowmill.export_jobs WHERE idempotency_key = ?", o.key)
	if diff := cmp.Diff([]string{o.job.ID}, ids); err != nil || diff != "" {
		c.found.add(t, "%s has other jobs than one: %v, %v", o.key, ids, err)
	}
	created, err := c.texts(ctx, "SELECT id FROM rowmill.audit_events WHERE job_id = ? AND action = 'export.create' AND detail = ''", o.job.ID)
	if err != nil || len(created) != 1 {
		c.found.add(t, "%s: the audit has job %s created %d times, %v", o.key, o.job.ID, len(created), err)
	}
	switch f := o.job.Failure; {
	case o.job.Status == export.Succeeded:
		c.checkFile(ctx, t, n, o)
	case o.job.Status == export.Failed && f != nil && f.Code != "" && len(strings.Fields(f.Message)) > 3:
		t.Logf("%s has failed in words: %s: %s", o.key, f.Code, f.Message)
	case o.job.Status == export.Canceled && o.cancel:
	default:
		c.found.add(t, "%s: job %s is %s with failure %+v", o.key, o.job.ID, o.job.Status, f)
	}
}

// checkFile downloads a file and compares it with SQL; the audit must tell of it.
func (c *campaign) checkFile(ctx context.Context, t *testing.T, n int, o *ordered) {
	t.Helper()
	told := "SELECT id FROM rowmill.audit_events WHERE job_id = ? AND action = 'export.download'"
	before, err := c.texts(ctx, told, o.job.ID)
	path := filepath.Join(t.TempDir(), o.key+"."+o.shape.format)
	if err := errors.Join(err, c.client(n).Download(ctx, o.job, path)); err != nil {
		c.found.add(t, "%s: the file of job %s cannot be had: %v", o.key, o.job.ID, err)
		return
	}
	after, err := c.texts(ctx, told, o.job.ID)
	if err != nil || len(after) != len(before)+1 {
		c.found.add(t, "%s: one download of job %s, and the audit went from %d to %d, %v", o.key, o.job.ID, len(before), len(after), err)
	}
	c.compare(t, o, path)
	c.before = *o
}

// compare holds a file to SQL and to its receipt.
func (c *campaign) compare(t *testing.T, o *ordered, path string) {
	t.Helper()
	got, err := contentOf(path, o.shape.format)
	if err != nil {
		c.found.add(t, "%s: the file of job %s cannot be read: %v", o.key, o.job.ID, err)
		return
	}
	want := c.want[o.shape.name]
	if !slices.Equal(want.Rows, got.Rows) || want.Sum != got.Sum {
		c.found.add(t, "%s: the file of job %s has %d rows, sum %d; SQL has %d, sum %d; first difference in row %d", o.key, o.job.ID,
			len(got.Rows), got.Sum, len(want.Rows), want.Sum, firstDifference(want.Rows, got.Rows))
	}
	if r := o.job.Receipt; r == nil || r.Written != int64(len(want.Rows)) || r.DeletedMeanwhile != 0 || o.job.Percent != 100 || o.job.RowsWritten != r.Written {
		c.found.add(t, "%s: job %s is at %d %% with %d rows and the receipt %+v, SQL has %d rows", o.key, o.job.ID, o.job.Percent, o.job.RowsWritten, r, len(want.Rows))
	}
}

func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// filesAreJobs is an error while the store holds anything but a file for each job that has succeeded.
func (c *campaign) filesAreJobs(ctx context.Context) error {
	stored, err := c.s3.keys(ctx)
	if err != nil {
		return err
	}
	published, err := c.texts(ctx, "SELECT file_key FROM rowmill.export_jobs WHERE status = 'succeeded' ORDER BY file_key")
	slices.Sort(stored)
	if diff := cmp.Diff(published, stored); err == nil && diff != "" {
		err = fmt.Errorf("(-published +stored):\n%s", diff)
	}
	return err
}

func (c *campaign) noUploads(ctx context.Context) error {
	open, err := c.s3.uploads(ctx)
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("%q are still open", open)
	}
	return err
}

func (c *campaign) nothingHeld(ctx context.Context) error {
	held, err := c.texts(ctx, "SELECT CONCAT_WS(' ', id, status) FROM rowmill.export_jobs WHERE status IN ('queued', 'running') OR active_key IS NOT NULL OR finished_at IS NULL")
	if err == nil && len(held) > 0 {
		err = fmt.Errorf("%q are held", held)
	}
	return err
}

// noTasks is an error while Redis has a task that waits, is due later or was given
// up. One of a killed worker stays active until asynq takes it for lost, a minute
// later, and then comes again: it finds its attempt over.
func (c *campaign) noTasks(context.Context) error {
	return c.tasks(func(q *asynq.QueueInfo) int { return q.Pending + q.Scheduled + q.Archived })
}

func (c *campaign) tasks(count func(*asynq.QueueInfo) int) error {
	i := asynq.NewInspectorFromRedisClient(c.keys)
	queues, err := i.Queues()
	for _, name := range queues {
		q, infoErr := i.GetQueueInfo(name)
		if err = errors.Join(err, infoErr); infoErr == nil && count(q) > 0 {
			err = errors.Join(err, fmt.Errorf("%s has %d tasks pending, %d active, %d scheduled, %d to be tried again, %d archived", name, q.Pending, q.Active, q.Scheduled, q.Retry, q.Archived))
		}
	}
	return err
}

func (c *campaign) noTemporaries(context.Context) (err error) {
	for name, m := range c.members {
		left, readErr := os.ReadDir(m.tmp)
		if err = errors.Join(err, readErr); len(left) > 0 {
			err = errors.Join(err, fmt.Errorf("%s left %v in its directory for temporary files", name, left))
		}
	}
	return err
}

// end stops the processes and checks that they leave no connection behind.
func (c *campaign) end(t *testing.T) {
	t.Helper()
	ctx, cancel := within(t, settling)
	defer cancel()
	for _, m := range c.members {
		if err := m.process.Stop(); err != nil {
			c.found.add(t, "%s: %v", m.name, err)
		} else if code := m.process.ExitCode(); code != 0 {
			c.found.add(t, "%s, asked to end, exits with %d: %s", m.name, code, tail(m.process.Log(), logTail))
		}
	}
	err := until(ctx, func() error {
		sessions, err := c.texts(ctx, "SELECT CONCAT_WS(' ', id, host, command, state) FROM information_schema.processlist WHERE user = 'rowmill'")
		if err == nil && len(sessions) > 0 {
			err = fmt.Errorf("MariaDB has %q", sessions)
		}
		clients, listErr := c.keys.ClientList(ctx).Result()
		if n := strings.Count(strings.TrimSpace(clients), "\n") + 1; listErr == nil && n > c.ownClients() {
			listErr = fmt.Errorf("Redis has %d clients, of which %d are the test's:\n%s", n, c.ownClients(), clients)
		}
		return errors.Join(err, listErr, c.noTemporaries(ctx))
	})
	if err != nil {
		c.found.add(t, "after all processes have ended: %v", err)
	}
}

func (c *campaign) ownClients() int { return int(c.keys.PoolStats().TotalConns) }
