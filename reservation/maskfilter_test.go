package reservation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/reservation"
)

func TestAFilterTellsNoMoreThanItsRows(t *testing.T) {
	given := map[string][]string{
		"status": {"Canceled"}, "guest_name": {"김민준", "Lee"}, "guest_name_like": {"Kim"}, "guest_name_ne": {"Park"}, "guest_phone": {"010-1234-5678"},
		"guest_email": {"u@x.kr"}, "memo": {"late"}, "memo_null": {"false"}, "q": {"Kim"}, "actor": {"kim"},
	}
	want := map[string][]string{
		"status": {"Canceled"}, "guest_name": {"김**", "L**"}, "guest_name_like": {"K**"}, "guest_name_ne": {"P**"}, "guest_phone": {"010-****-**78"},
		"guest_email": {"***@***.kr"}, "memo": {"**"}, "memo_null": {"false"}, "q": {"K**"}, "actor": {"kim"},
	}
	if diff := cmp.Diff(want, reservation.MaskFilter(given, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if given["guest_name"][0] != "김민준" {
		t.Error("the given filter is changed")
	}
	if got := reservation.MaskFilter(map[string][]string{"q": {"00004711"}}, false); got["q"][0] != "00004711" {
		t.Errorf("a search among codes became %v", got)
	}
	if reservation.MaskFilter(nil, true) != nil {
		t.Error("no filter became one")
	}
}
