package home_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/home"
	"rowmill/internal/fault"
	"rowmill/internal/testdb"
)

func approved(context.Context) error { return nil }

func good() home.Change { return home.Change{ID: 7, Title: "new", ProductIDs: []int64{2, 5}} }

func TestAChangeNamesAllThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*home.Change)
		want  []string
	}{
		{"nothing", func(*home.Change) {}, nil},
		{"the longest title", func(c *home.Change) { c.Title = strings.Repeat("가", home.MaxTitle) }, nil},
		{"no title", func(c *home.Change) { c.Title = " \t" }, []string{"title"}},
		{"a long title", func(c *home.Change) { c.Title = strings.Repeat("가", home.MaxTitle+1) }, []string{"title"}},
		{"a title of bytes", func(c *home.Change) { c.Title = "a\xff" }, []string{"title"}},
		{"places", func(c *home.Change) { c.Position = -1 }, []string{"position"}},
		{"a far place", func(c *home.Change) { c.Position = home.MaxPosition + 1 }, []string{"position"}},
		{"no time between", func(c *home.Change) { c.From, c.Until = now, now }, []string{"visible_until"}},
		{"a year long gone", func(c *home.Change) { c.From = now.AddDate(-1000, 0, 0) }, []string{"visible_from"}},
		{"a year that is none", func(c *home.Change) { c.Until = now.AddDate(9000, 0, 0) }, []string{"visible_until"}},
		{"a product twice", func(c *home.Change) { c.ProductIDs = []int64{5, 2, 5} }, []string{"product_ids"}},
		{"many products", func(c *home.Change) { c.ProductIDs = make([]int64, home.MaxProducts+1) }, []string{"product_ids", "product_ids"}},
		{"all", func(c *home.Change) { c.Title, c.Position = "", -1 }, []string{"title", "position"}},
	} {
		change := good()
		c.spoil(&change)
		err := change.Check()
		var got []string
		if f, ok := fault.As(err); ok {
			for _, field := range f.Fields {
				got = append(got, field.Name)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != (c.want != nil) || err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

func TestAChangeThatCannotBeMadeChangesNothing(t *testing.T) {
	refused := errors.New("not recorded")
	for _, c := range []struct {
		name    string
		change  func(*home.Change)
		approve error
		kind    fault.Kind
		field   string
	}{
		{"wrong in itself", func(c *home.Change) { c.Title = "" }, nil, fault.Invalid, "title"},
		{"an unknown section", func(c *home.Change) { c.ID = 8 }, nil, fault.NotFound, ""},
		{"a product that does not exist", func(c *home.Change) { c.ProductIDs = []int64{5, 99} }, nil, fault.Invalid, "product_ids[1]"},
		{"products of a notice", func(c *home.Change) { c.ID = 1 }, nil, fault.Invalid, "product_ids"},
		{"not approved", func(*home.Change) {}, refused, fault.Internal, ""},
	} {
		s, asked := newStore(), false
		service, change := open(t, s, nil), good()
		c.change(&change)
		_, err := service.Change(t.Context(), change, func(context.Context) error { asked = true; return c.approve })
		if err == nil || fault.KindOf(err) != c.kind || asked != (c.approve != nil) || c.approve != nil && !errors.Is(err, refused) {
			t.Errorf("%s: %v, approval asked for: %t", c.name, err, asked)
		}
		if f, ok := fault.As(err); c.field != "" && (!ok || len(f.Fields) != 1 || f.Fields[0].Name != c.field) {
			t.Errorf("%s: it does not name %s: %v", c.name, c.field, err)
		}
		if diff := cmp.Diff(newStore().sections, s.sections); diff != "" {
			t.Errorf("%s (-before +after):\n%s", c.name, diff)
		}
	}
}

func TestAChangeIsAnsweredAtOnceByEveryProcess(t *testing.T) {
	s, url := newStore(), testdb.Redis(t)
	process := func() *home.Service {
		return open(t, s, func(c *home.Config) { c.Redis, c.FirstTTL, c.SecondTTL = connect(t, url), time.Hour, time.Hour })
	}
	one, two := process(), process()
	if diff := cmp.Diff(board(t, one), board(t, two)); diff != "" {
		t.Fatalf("the copy in Redis is another (-loaded +copied):\n%s", diff)
	}
	change := home.Change{ID: 7, Title: "changed", Position: 1, Until: now.Add(time.Hour + 1500*time.Nanosecond), ProductIDs: []int64{2}}
	got, err := one.Change(t.Context(), change, approved)
	want := home.Section{ID: 7, Kind: home.Grid, Title: "changed", Position: 1, Until: now.Add(time.Hour + time.Microsecond), ProductIDs: []int64{2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff(want, board(t, one).Sections[0].Section); diff != "" {
		t.Errorf("the process that made it answers (-want +got):\n%s", diff)
	}
	took := await(t, "another process answers the new state", func() bool { return board(t, two).Sections[0].Title == "changed" })
	t.Logf("another process answered it %v after the change", took)
	if diff := cmp.Diff(board(t, one), board(t, two)); diff != "" {
		t.Errorf("(-one +two):\n%s", diff)
	}
}

// Whether a change that failed was stored is not known: nobody keeps a copy from before.
func TestAChangeThatFailsIsLookedUpAnew(t *testing.T) {
	s := newStore()
	s.putErr = errors.New("the connection was lost on the way back")
	service := open(t, s, nil)
	board(t, service)
	if _, err := service.Change(t.Context(), good(), approved); !errors.Is(err, s.putErr) {
		t.Errorf("got %v", err)
	}
	if got := board(t, service).Sections[0].Title; got != "new" {
		t.Errorf("it answers %q", got)
	}
}

func TestAChangeStandsThoughRedisIsAway(t *testing.T) {
	server, s := testdb.NewRedisServer(t), newStore()
	service := open(t, s, func(c *home.Config) { c.Redis, c.FirstTTL = connect(t, server.URL()), time.Hour })
	board(t, service)
	server.Stop()
	if _, err := service.Change(t.Context(), good(), approved); err != nil {
		t.Fatal(err)
	}
	if got := board(t, service).Sections[0].Title; got != "new" {
		t.Errorf("it answers %q", got)
	}
}

func TestABoardWithoutAnEditorCannotBeChanged(t *testing.T) {
	service := open(t, newStore(), func(c *home.Config) { c.Editor = nil })
	if _, err := service.Change(t.Context(), good(), approved); fault.KindOf(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
}
