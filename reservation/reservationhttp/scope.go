package reservationhttp

import (
	"fmt"

	"github.com/go-faster/jx"

	"rowmill/access"
	"rowmill/internal/table"
	"rowmill/reservation"
)

// scopeRequest is what of the rows a call is let see, as it travels: "properties",
// null for all, and "personal". A call that names neither, as one of an older
// client, sees all rows with personal data masked.
type scopeRequest struct{ scope access.Scope }

func (r scopeRequest) append(w *jx.Writer) {
	w.FieldStart("properties")
	if r.scope.Properties == nil {
		w.Null()
	} else {
		appendList(w, r.scope.Properties, w.Int64)
	}
	w.Comma()
	w.FieldStart("personal")
	w.Bool(r.scope.Personal)
}

func (r *scopeRequest) addTo(m members) {
	m["properties"] = member{fmt.Sprintf("null or a list of at most %d whole numbers", reservation.MaxProperties), func(d *jx.Decoder) (err error) {
		if d.Next() == jx.Null {
			return d.Null()
		}
		r.scope.Properties, err = readIDs(d, reservation.MaxProperties)
		if r.scope.Properties == nil {
			r.scope.Properties = []int64{} // none: an empty list must not become all
		}
		return err
	}}
	m["personal"] = member{"true or false", func(d *jx.Decoder) (err error) {
		r.scope.Personal, err = d.Bool()
		return err
	}}
}

// mask hides what the call must not see of the rows, before they take any form.
func (r scopeRequest) mask(fields []reservation.Field, rows []table.Row) {
	if !r.scope.Personal {
		reservation.MaskRows(fields, rows)
	}
}
