package reservationhttp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/export"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

const (
	guestName  = "김민준"
	guestPhone = "010-1234-5678"
	guestEmail = "minjun@mail.example.kr"
	guestMemo  = "asks for a cot"
)

// guests is a store whose rows hold one guest's data.
func guests() *fakeStore {
	rows := func(ids []int64, fields []reservation.Field) []table.Row {
		personal := map[string]string{"guest_name": guestName, "guest_phone": guestPhone, "guest_email": guestEmail, "memo": guestMemo}
		found := fakeRows(ids, fields)
		for _, row := range found {
			for i, f := range fields {
				if text, is := personal[f.Key]; is {
					row.Values[i] = table.TextOf(text)
				}
			}
		}
		return found
	}
	return &fakeStore{
		ids: upTo(3),
		batchHook: func(_ context.Context, ids []int64, fields []reservation.Field) (reservation.Batch, error) {
			return reservation.Batch{Rows: rows(ids, fields)}, nil
		},
		listHook: func(context.Context) (reservation.List, error) {
			fields, err := reservation.FieldsOf([]string{"id", "guest_name", "guest_phone", "guest_email", "memo"})
			return reservation.List{Rows: rows([]int64{1}, fields), Total: 1}, err
		},
	}
}

const guestFields = `"fields":["id","guest_name","guest_phone","guest_email","memo"]`

// Nothing but a plain "personal": true makes the server give what is personal, in
// any of its forms.
func TestPersonalDataAreMaskedUnlessTheCallSaysOtherwise(t *testing.T) {
	base, _ := serve(t, guests())
	bodies := map[string]string{pathBatch: `{"ids":[1,2],` + guestFields + `%s}`, pathList: `{"limit":5,` + guestFields + `%s}`}
	for path, body := range bodies {
		for _, accept := range []string{typeJSON, typeRows} {
			for member, plain := range map[string]bool{``: false, `,"personal":false`: false, `,"properties":[1],"personal":false`: false, `,"properties":null`: false, `,"personal":true`: true} {
				res, answer := post(t, base+path, fmt.Sprintf(body, member), "Accept", accept)
				if res.StatusCode != http.StatusOK {
					t.Fatalf("%s %s: %d %s", path, member, res.StatusCode, answer)
				}
				for _, secret := range []string{guestName, guestPhone, guestEmail, guestMemo} {
					if strings.Contains(answer, secret) != plain {
						t.Errorf("%s as %s, %q: %q is in the answer: %t\n%q", path, accept, member, secret, !plain, answer)
					}
				}
				if masked := strings.Contains(answer, "김**") && strings.Contains(answer, "010-****-**78") && strings.Contains(answer, "m***@***.kr"); masked == plain {
					t.Errorf("%s as %s, %q: masked is %t\n%q", path, accept, member, masked, answer)
				}
			}
		}
	}
}

func TestTheScopeReachesTheStore(t *testing.T) {
	for _, scope := range []access.Scope{{}, {Personal: true}, {Properties: []int64{}}, {Properties: []int64{7, -3}, Personal: true}} {
		store := &fakeStore{ids: upTo(30)}
		base, _ := serve(t, store)
		c := newTestClient(t, base)
		same := func(what string, got access.Scope) {
			t.Helper()
			if diff := cmp.Diff(scope, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		d := NewDataset(c, 10)
		snapshot, err := d.Source.Snapshot(t.Context(), scope, export.Request{})
		if err != nil {
			t.Fatal(err)
		}
		q, _ := store.query()
		same("snapshot", q.Scope)
		if _, err := d.Source.Fetch(t.Context(), scope, snapshot.Pages[0], []string{"id"}); err != nil {
			t.Fatal(err)
		}
		same("batch", store.scope)
		if _, err := c.Count(t.Context(), reservation.Query{Scope: scope}); err != nil {
			t.Fatal(err)
		}
		q, _ = store.query()
		same("count", q.Scope)
	}
}

func TestAScopeThatIsNoneIsRefused(t *testing.T) {
	base, _ := serve(t, &fakeStore{})
	many := "[1" + strings.Repeat(",1", reservation.MaxProperties) + "]"
	for _, wrong := range []struct{ member, name string }{
		{`"properties":"1"`, "properties"}, {`"properties":[1.5]`, "properties"}, {`"properties":[null]`, "properties"}, {`"properties":` + many, "properties"},
		{`"personal":"true"`, "personal"}, {`"personal":1`, "personal"}, {`"personal":null`, "personal"}, {`"personal":true,"personal":true`, "personal"},
	} {
		for path, body := range map[string]string{pathSnapshot: `{%s}`, pathBatch: `{"ids":[1],"fields":["id"],%s}`, pathList: `{"limit":1,"fields":["id"],%s}`} {
			res, answer := post(t, base+path, fmt.Sprintf(body, wrong.member))
			if res.StatusCode != http.StatusBadRequest || !strings.Contains(answer, `"name":"`+wrong.name+`"`) {
				t.Errorf("%s %.40s: %d %s", path, wrong.member, res.StatusCode, answer)
			}
		}
	}
}

// A caller who sees masks cannot ask which rows a value stands behind.
func TestNoOracle(t *testing.T) {
	store := &fakeStore{ids: upTo(3)}
	base, _ := serve(t, store)
	c := newTestClient(t, base)
	for _, filter := range []map[string][]string{
		{"guest_name": {"Kim"}}, {"guest_name_like": {"K"}}, {"guest_phone_ne": {"1"}}, {"guest_email_null": {"true"}}, {"status": {"x"}, "memo": {"y"}},
	} {
		parsed, err := reservation.ParseFilter(filter)
		if err != nil {
			t.Fatal(err)
		}
		q := reservation.Query{Filter: parsed}
		_, err = c.Count(t.Context(), q)
		_, snapshotErr := NewDataset(c, 0).Source.Snapshot(t.Context(), access.Scope{}, export.Request{Filter: filter})
		for _, err := range []error{err, snapshotErr} {
			if fault.KindOf(err) != fault.Forbidden || !strings.Contains(fault.Message(err), "pii:read is needed to filter by ") {
				t.Errorf("%v: %v", filter, err)
			}
		}
		q.Scope.Personal = true
		if _, err := c.Count(t.Context(), q); err != nil {
			t.Errorf("%v in the clear: %v", filter, err)
		}
	}
}
