package grants_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/grants"
	"rowmill/internal/fault"
)

// world is a store of grants, a job table and an audit in memory.
type world struct {
	mu      sync.Mutex
	grants  map[string]access.Grant
	puts    int
	jobs    map[string]export.Job
	events  []audit.Event
	now     time.Time
	putErr  error
	getErr  error
	endErr  error
	auditNo error
}

func newWorld(jobs ...export.Job) *world {
	w := &world{grants: map[string]access.Grant{}, jobs: map[string]export.Job{}, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	for _, j := range jobs {
		w.jobs[j.ID] = j
	}
	return w
}

func (w *world) keeper(change func(*grants.Config)) *grants.Keeper {
	c := grants.Config{Store: w, Jobs: w, Now: func() time.Time { return w.now }, Record: func(_ context.Context, e audit.Event) error {
		if w.auditNo == nil {
			w.events = append(w.events, e)
		}
		return w.auditNo
	}}
	if change != nil {
		change(&c)
	}
	return grants.New(c)
}

func (w *world) Get(_ context.Context, subject string) (access.Grant, error) {
	g, ok := w.grants[subject]
	if !ok && w.getErr == nil {
		return g, fault.New(fault.NotFound, "never seen")
	}
	return g, w.getErr
}

func (w *world) Put(_ context.Context, g access.Grant) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.putErr == nil {
		w.grants[g.Subject] = g
		w.puts++
	}
	return w.putErr
}

func (w *world) Live(_ context.Context, subject string) (live []export.Job, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		if j := w.jobs[id]; j.RequestedBy == subject && !j.Status.Final() {
			live = append(live, j)
		}
	}
	return live, nil
}

func (w *world) Revoke(_ context.Context, id string, why export.Failure) (export.Job, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.jobs[id]
	if w.endErr != nil || j.Status.Final() {
		return j, false, w.endErr
	}
	j.Status, j.Failure = export.Canceled, &why
	w.jobs[id] = j
	return j, true, nil
}

// ended gives the ids of the jobs that ended for want of a permission.
func (w *world) ended() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		if j := w.jobs[id]; j.Status == export.Canceled && j.Failure != nil && j.Failure.Code == grants.PermissionLost && j.Failure.Message != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func liveJob(id string, scope access.Scope) export.Job {
	return export.Job{ID: id, RequestedBy: "ann", Status: export.Queued, Scope: scope}
}

func ann(permissions ...access.Permission) access.Principal {
	return access.Principal{Subject: "ann", Permissions: permissions}
}

func TestASmallerGrantEndsTheJobsThatItDoesNotAllow(t *testing.T) {
	done, others := liveJob("done", access.Scope{}), liveJob("others", access.Scope{Personal: true})
	done.Status, others.RequestedBy = export.Succeeded, "bob"
	jobs := []export.Job{
		liveJob("masked", access.Scope{Properties: []int64{1}}), liveJob("clear", access.Scope{Properties: []int64{1}, Personal: true}),
		liveJob("wide", access.Scope{Properties: []int64{1, 2}}), done, others,
	}
	everything := ann(access.Permissions()...)
	narrow := everything
	narrow.Properties = []int64{1}
	for _, c := range []struct {
		name string
		then access.Principal
		want []string
	}{
		{"the same", everything, nil},
		{"no personal data", ann(access.CreateExports), []string{"clear"}},
		{"one property", narrow, []string{"wide"}},
		{"no exports", ann(access.ReadReservations, access.ReadPersonal), []string{"clear", "masked", "wide"}},
		{"nothing", ann(), []string{"clear", "masked", "wide"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(jobs...)
			k := w.keeper(nil)
			for _, p := range []access.Principal{everything, c.then} {
				if err := k.Seen(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, w.ended()); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
			var told []string
			for _, e := range w.events {
				if e.Action != audit.Revoke || e.Detail == "" {
					t.Errorf("event %+v", e)
				}
				told = append(told, e.JobID)
			}
			if diff := cmp.Diff(c.want, told); diff != "" {
				t.Errorf("audit (-want +got):\n%s", diff)
			}
		})
	}
}

// What a process that has just started does not know may have shrunk meanwhile.
func TestAFreshProcessHoldsToTheGrantToo(t *testing.T) {
	w := newWorld(liveJob("a", access.Scope{}))
	if err := w.keeper(nil).Seen(t.Context(), ann()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, w.ended()); diff != "" {
		t.Error(diff)
	}
}

func TestAGrantIsStoredWhenItChangesAndOnceAMinute(t *testing.T) {
	w := newWorld()
	k := w.keeper(nil)
	for _, c := range []struct {
		after time.Duration
		p     access.Principal
		puts  int
	}{
		{0, ann(access.CreateExports), 1},
		{0, ann(access.CreateExports), 1},
		{59 * time.Second, ann(access.CreateExports), 1},
		{time.Second, ann(access.CreateExports), 2},
		{time.Second, ann(), 3},
		{time.Second, ann(), 3},
	} {
		w.now = w.now.Add(c.after)
		if err := k.Seen(t.Context(), c.p); err != nil || w.puts != c.puts {
			t.Errorf("at %v: stored %d times, want %d, %v", w.now, w.puts, c.puts, err)
		}
	}
	w.putErr, w.now = errors.New("broken"), w.now.Add(time.Hour)
	if err := k.Seen(t.Context(), ann()); err != nil {
		t.Errorf("an unchanged grant that is not refreshed stops the caller: %v", err)
	}
	if err := k.Seen(t.Context(), ann(access.ReadAudit)); err == nil {
		t.Error("a changed grant that is not kept is no error")
	}
}

func TestWhatIsNotMadeSureIsTriedAgain(t *testing.T) {
	for name, broken := range map[string]func(*world, error){
		"the job table": func(w *world, err error) { w.endErr = err },
		"the audit":     func(w *world, err error) { w.auditNo = err },
	} {
		w := newWorld(liveJob("a", access.Scope{}))
		k := w.keeper(nil)
		broken(w, errors.New("broken"))
		if err := k.Seen(t.Context(), ann()); err == nil || w.ended() != nil {
			t.Errorf("%s broken: %v, ended %v", name, err, w.ended())
		}
		broken(w, nil)
		if err := k.Seen(t.Context(), ann()); err != nil || len(w.ended()) != 1 {
			t.Errorf("%s mended: %v, ended %v", name, err, w.ended())
		}
	}
}

func TestPermits(t *testing.T) {
	w := newWorld()
	k := w.keeper(nil)
	job := liveJob("a", access.Scope{Personal: true})
	if err := k.Permits(t.Context(), job); err != nil {
		t.Errorf("an owner of before there were grants: %v", err)
	}
	if err := k.Holds(t.Context(), job); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("a link of one who was never seen: %v", err)
	}
	for _, c := range []struct {
		p    access.Principal
		want bool
	}{{ann(access.Permissions()...), true}, {ann(access.CreateExports), false}, {ann(), false}} {
		if err := k.Seen(t.Context(), c.p); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"permits": k.Permits(t.Context(), job), "holds": k.Holds(t.Context(), job)} {
			if (err == nil) != c.want || err != nil && fault.KindOf(err) != fault.Forbidden {
				t.Errorf("%s with %v: %v", name, c.p.Permissions, err)
			}
		}
	}
	w.getErr = errors.New("broken")
	for name, err := range map[string]error{"permits": k.Permits(t.Context(), job), "holds": k.Holds(t.Context(), job)} {
		if err == nil || fault.KindOf(err) == fault.Forbidden {
			t.Errorf("%s, the store being broken: %v", name, err)
		}
	}
}

func TestEmptyEndsEverythingOfASubject(t *testing.T) {
	w := newWorld(liveJob("a", access.Scope{}), liveJob("b", access.Scope{Properties: []int64{}}))
	k := w.keeper(nil)
	p := ann(access.CreateExports)
	p.Name = "Ann"
	if err := k.Seen(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	ended, err := k.Empty(t.Context(), "ann")
	if err != nil || ended != 2 || len(w.ended()) != 2 {
		t.Errorf("%d ended, %v, %v", ended, w.ended(), err)
	}
	if g := w.grants["ann"]; g.Name != "Ann" || len(g.Permissions) != 0 {
		t.Errorf("the grant is %+v", g)
	}
	if ended, err := k.Empty(t.Context(), "nobody"); err != nil || ended != 0 {
		t.Errorf("one who was never seen: %d, %v", ended, err)
	}
}

func TestNoMoreSubjectsAreRememberedThanAsked(t *testing.T) {
	w := newWorld()
	k := w.keeper(func(c *grants.Config) { c.Remember = 3 })
	for i := range 10 {
		if err := k.Seen(t.Context(), access.Principal{Subject: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := grants.Remembered(k); n != 3 {
		t.Errorf("%d are remembered", n)
	}
	w.now = w.now.Add(time.Hour)
	if err := k.Seen(t.Context(), ann()); err != nil {
		t.Fatal(err)
	}
	if n := grants.Remembered(k); n != 1 {
		t.Errorf("%d are remembered, though all others are old", n)
	}
}

type recorder struct {
	events []audit.Event
	err    error
}

func (r *recorder) Record(_ context.Context, e audit.Event) error {
	r.events = append(r.events, e)
	return r.err
}

func TestRecordsWithoutACallerAreTheSystems(t *testing.T) {
	if grants.Records(nil) != nil {
		t.Error("no recorder records")
	}
	r := &recorder{}
	if err := grants.Records(r)(t.Context(), audit.Event{Action: audit.Revoke}); err != nil {
		t.Fatal(err)
	}
	if e := r.events[0]; e.ID == "" || e.At.IsZero() || e.Actor != grants.System || e.Action != audit.Revoke {
		t.Errorf("%+v", e)
	}
	r.err = errors.New("full")
	if err := grants.Records(r)(t.Context(), audit.Event{}); !errors.Is(err, r.err) {
		t.Errorf("got %v", err)
	}
}
