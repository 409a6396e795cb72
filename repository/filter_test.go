package repository

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// holds is the filter's meaning, said a second time in Go.
func holds(c reservation.Condition, v table.Value) bool {
	equal := func(w table.Value) bool { return v == w }
	switch c.Op {
	case reservation.Equal:
		return slices.ContainsFunc(c.Values, equal)
	case reservation.NotIn:
		return !slices.ContainsFunc(c.Values, equal)
	case reservation.IsNull:
		return v.IsNull() == c.Values[0].Bool()
	case reservation.Prefix:
		return !v.IsNull() && strings.HasPrefix(v.Text(), c.Values[0].Text())
	case reservation.AtLeast:
		return !v.IsNull() && cmp.Compare(v.Integer(), c.Values[0].Integer()) >= 0
	case reservation.AtMost:
		return !v.IsNull() && cmp.Compare(v.Integer(), c.Values[0].Integer()) <= 0
	}
	panic("no such operator")
}

// conditionsOn makes conditions of every operator that the field has, with
// values that rows have and, for text, some that none has.
func conditionsOn(f reservation.Field, have []table.Value) (all []reservation.Condition) {
	add := func(op reservation.Op, values ...table.Value) {
		all = append(all, reservation.Condition{Field: f.Key, Op: op, Values: values})
	}
	add(reservation.IsNull, table.BoolOf(true))
	add(reservation.IsNull, table.BoolOf(false))
	add(reservation.Equal)
	add(reservation.NotIn)
	if len(have) == 0 {
		return all
	}
	some := []table.Value{have[0], have[len(have)/2], have[len(have)-1]}
	for _, v := range some {
		add(reservation.Equal, v)
		add(reservation.NotIn, v)
	}
	add(reservation.Equal, some...)
	add(reservation.NotIn, some...)
	switch f.Type {
	case table.Integer, table.Decimal, table.Date, table.Time:
		add(reservation.AtLeast, some[1])
		add(reservation.AtMost, some[1])
	case table.Text, table.Code:
		for _, text := range []string{some[1].Text() + " ", strings.ToUpper(some[1].Text()), strings.ToLower(some[1].Text()), "", "' OR 1=1 -- ", `\`} {
			add(reservation.Equal, table.TextOf(text))
			add(reservation.NotIn, table.TextOf(text))
		}
	}
	if f.Prefix {
		for _, text := range []string{some[1].Text()[:3], some[1].Text(), "", "0", "K", "k", "김", "%", "_", "Kim Guest%", "Kim Guest_", "O'Neil_", "O'Neil!", `\`, "!"} {
			add(reservation.Prefix, table.TextOf(text))
		}
	}
	return all
}

func TestEveryOperatorOnEveryFieldMeansTheSameOnBothEngines(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		seed(t, db, 400)
		fields := reservation.StoredFields()
		ids := snapshotIDs(t, db, reservation.Query{})
		batch, err := NewReservations(db).Batch(t.Context(), everything, ids, fields)
		if err != nil || len(batch.Rows) != 400 {
			t.Fatalf("%d rows, %v", len(batch.Rows), err)
		}
		for i, f := range fields {
			var have []table.Value
			for _, row := range batch.Rows {
				if v := row.Values[i]; !v.IsNull() && !slices.Contains(have, v) {
					have = append(have, v)
				}
			}
			if len(have) < 1 {
				t.Errorf("the seed has no value of %s", f.Key)
			}
			for _, c := range conditionsOn(f, have) {
				var want []int64
				for _, row := range batch.Rows {
					if holds(c, row.Values[i]) {
						want = append(want, row.Key)
					}
				}
				got := snapshotIDs(t, db, reservation.Query{Filter: reservation.Filter{Conditions: []reservation.Condition{c}}})
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s %s %v (-want +got):\n%s", c.Field, c.Op, c.Values, diff)
				}
			}
		}
	})
}

func TestConditionsAreAConjunctionAndSearchLooksAtCodeAndName(t *testing.T) {
	tests := []struct {
		name   string
		filter map[string][]string
		want   []int64
	}{
		{"two of one part", map[string][]string{"guest_name": {"Kim"}, "country": {"KOR"}}, []int64{1}},
		{"a part and the main table", map[string][]string{"guest_name": {"Kim", "Lee"}, "status": {"Canceled"}}, []int64{2}},
		{"a look-up", map[string][]string{"property": {"City Hotel"}}, []int64{3}},
		{"not a look-up's name", map[string][]string{"agent_ne": {"Agent"}}, []int64{1, 2, 4}},
		{"search a name", map[string][]string{"q": {"Ki"}}, []int64{1}},
		{"search a code", map[string][]string{"q": {"0001"}}, []int64{1}},
		{"search both", map[string][]string{"q": {"0"}}, []int64{1, 2, 3, 4}},
		{"search is no pattern", map[string][]string{"q": {"%"}}, []int64{4}},
		{"search with a condition", map[string][]string{"q": {"0"}, "status": {"Canceled"}}, []int64{2}},
		{"search a quote", map[string][]string{"q": {"' OR ''='"}}, nil},
	}
	eachEngine(t, func(t *testing.T, db *DB) {
		insert(t, db, "properties (id, name)", [][]any{{1, "Resort Hotel"}, {2, "City Hotel"}})
		insert(t, db, "agents (id, property_id, code, name)", [][]any{{1, 1, "1", "Agent"}})
		var rows [][]any
		for i := 1; i <= 4; i++ {
			row := plainRow(i)
			row[1] = fmt.Sprintf("000%d", i)
			rows = append(rows, row)
		}
		rows[1][7], rows[2][2], rows[2][5] = "Canceled", 2, 1
		insert(t, db, intoReservations, rows)
		insert(t, db, intoGuests, [][]any{
			{1, "Kim", "", "", "KOR", 1, 0, 0, "", 0, 0, 0}, {2, "Lee", "", "", "KOR", 1, 0, 0, "", 0, 0, 0}, {4, "%", "", "", nil, 1, 0, 0, "", 0, 0, 0}})
		for _, test := range tests {
			filter, err := reservation.ParseFilter(test.filter)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.want, snapshotIDs(t, db, reservation.Query{Filter: filter, Scope: everything})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

// A text with a trailing space is another text, also to MySQL, which pads.
func TestTrailingSpacesCount(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB) {
		rows := [][]any{plainRow(1), plainRow(2), plainRow(3)}
		rows[0][6], rows[1][6] = "a", "a "
		insert(t, db, intoReservations, rows)
		for op, want := range map[reservation.Op][]int64{reservation.Equal: {1}, reservation.NotIn: {2, 3}} {
			c := reservation.Condition{Field: "company", Op: op, Values: []table.Value{table.TextOf("a")}}
			got := snapshotIDs(t, db, reservation.Query{Filter: reservation.Filter{Conditions: []reservation.Condition{c}}})
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", op, diff)
			}
		}
	})
}

func TestWrongQueriesAreInvalid(t *testing.T) {
	one := func(field string, op reservation.Op, values ...table.Value) reservation.Query {
		return reservation.Query{Filter: reservation.Filter{Conditions: []reservation.Condition{{Field: field, Op: op, Values: values}}}}
	}
	tests := map[string]reservation.Query{
		"unknown field":          one("1=1; --", reservation.Equal, table.IntegerOf(1)),
		"unknown operator":       one("id", "<>", table.IntegerOf(1)),
		"value of another type":  one("id", reservation.Equal, table.TextOf("1 OR 1=1")),
		"NULL value":             one("memo", reservation.Equal, table.Null()),
		"another scale":          one("amount", reservation.AtLeast, table.DecimalOf(1, 1)),
		"zero date":              one("check_in", reservation.Equal, table.ZeroDate()),
		"no value":               one("check_in", reservation.AtLeast),
		"two values":             one("id", reservation.AtMost, table.IntegerOf(1), table.IntegerOf(2)),
		"NULL of a text":         one("memo", reservation.IsNull, table.TextOf("x")),
		"prefix of a number":     one("nights", reservation.Prefix, table.IntegerOf(1)),
		"too many values":        one("id", reservation.Equal, make([]table.Value, reservation.MaxValues+1)...),
		"bytes that are no text": one("guest_name", reservation.Prefix, table.TextOf("\xff")),
		"search that is no text": {Filter: reservation.Filter{Search: "\xff"}},
		"unsortable field":       {Sort: reservation.Sort{Field: "guest_name"}},
		"unknown sort":           {Sort: reservation.Sort{Field: "id; DROP TABLE guests"}},
	}
	eachEngine(t, func(t *testing.T, db *DB) {
		for name, q := range tests {
			if _, err := readIDs(t.Context(), db, q); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %v, want an invalid query", name, err)
			}
		}
	})
}
