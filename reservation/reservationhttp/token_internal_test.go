package reservationhttp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"rowmill/export"
)

// Tokens are stored with a big export's list and read by the next release: this is
// their form. One that cannot read it raises export's tokenForm.
func TestTheFormOfStoredTokens(t *testing.T) {
	ids := []int64{7, 8, 1 << 40, -1}
	want := []export.PageToken{{Rows: 3, Token: []byte("\x0e\x02\xf0\xff\xff\xff\xff\x3f")}, {Rows: 1, Token: []byte("\x01")}}
	p := packer{size: 3}
	for _, id := range ids {
		p.add(id)
	}
	p.cut()
	if diff := cmp.Diff(want, p.pages); diff != "" {
		t.Errorf("packed (-want +got):\n%s", diff)
	}
	var got []int64
	for _, token := range want {
		page, err := unpack(token)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
}
