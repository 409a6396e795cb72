package web

import (
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"rowmill/access"
	"rowmill/internal/fault"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// detailPage is one reservation with all its fields.
type detailPage struct {
	ID        int64
	Label     string
	Groups    []group
	Back      string
	MayReveal bool
	Revealed  bool
	Reveal    string
}

// group is a part of a reservation.
type group struct {
	Title string
	Lines []line
}

type line struct {
	Title string
	cell
}

func (p *pages) reservation(r *http.Request, f *frame) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return fault.New(fault.NotFound, "There is no such reservation.")
	}
	back, err := url.ParseQuery(f.Query.Get("list"))
	if err != nil {
		back = url.Values{}
	}
	scope := f.Caller.Scope(back.Get("personal") == "true")
	fields := reservation.StoredFields()
	one := reservation.Query{Sort: reservation.DefaultSort, Scope: scope, Filter: reservation.Filter{Conditions: []reservation.Condition{
		{Field: "id", Op: reservation.Equal, Values: []table.Value{table.IntegerOf(id)}},
	}}}
	list, err := p.cfg.Reservations.List(r.Context(), one, reservation.Window{Limit: 1}, fields, false)
	if err != nil {
		return err
	}
	if len(list.Rows) == 0 {
		return fault.New(fault.NotFound, "There is no reservation %d.", id)
	}
	page := &detailPage{ID: id, Back: listAddress(back), MayReveal: f.Caller.May(access.ReadPersonal), Revealed: scope.Personal, Reveal: revealed(id, back, !scope.Personal)}
	page.fill(f.speech, fields, list.Rows[0], scope)
	f.View, f.Title, f.Page = "reservation", f.T("detail.title", page.Label), page
	return nil
}

// revealed gives the address where personal data are in the clear, or masked.
func revealed(id int64, back url.Values, personal bool) string {
	other := maps.Clone(back)
	other.Del("personal")
	if personal {
		other.Set("personal", "true")
	}
	to := "/reservations/" + strconv.FormatInt(id, 10)
	if len(other) > 0 {
		to += "?list=" + escape(other.Encode())
	}
	return to
}

// detailParts gives the order of the groups; look-ups stand with the booking.
var detailParts = []struct {
	title string
	parts []reservation.Part
}{
	{"detail.booking", []reservation.Part{reservation.Main, reservation.PartProperty, reservation.PartProduct, reservation.PartChannel, reservation.PartAgent}},
	{"detail.guest", []reservation.Part{reservation.PartGuest}},
	{"detail.payment", []reservation.Part{reservation.PartPayment, reservation.PartCouponUse}},
	{"detail.stay", []reservation.Part{reservation.PartStay}},
	{"detail.cancellation", []reservation.Part{reservation.PartCancel}},
}

func (d *detailPage) fill(s speech, fields []reservation.Field, data table.Row, scope access.Scope) {
	for _, part := range detailParts {
		g := group{Title: s.T(part.title)}
		for i, f := range fields {
			for _, in := range part.parts {
				if f.Part != in {
					continue
				}
				c := s.fieldCell(f, data.Values[i], scope)
				if f.Key == "code" {
					d.Label = c.Text
				}
				g.Lines = append(g.Lines, line{Title: s.FieldTitle(f), cell: c})
			}
		}
		d.Groups = append(d.Groups, g)
	}
}
