package blob

import "testing"

func TestSizesInWords(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 1234: "1.23 kB", 999_400: "999 kB", 999_600: "1 MB",
		5 << 20: "5.24 MB", 123_456_789: "123 MB", 2_000_000_000: "2 GB", 7_650_000_000_000: "7.65 TB",
	} {
		if got := inWords(bytes); got != want {
			t.Errorf("%d: got %q, want %q", bytes, got, want)
		}
	}
}
