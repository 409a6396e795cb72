package httpedge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/internal/httpedge"
)

func TestTokenIsItsSecretAlone(t *testing.T) {
	const secret = "0123456789abcdef"
	for _, c := range []struct {
		name  string
		token httpedge.Token
		given string
		want  bool
	}{
		{"the secret", httpedge.NewToken(secret), secret, true},
		{"its beginning", httpedge.NewToken(secret), secret[:15], false},
		{"more than it", httpedge.NewToken(secret), secret + "0", false},
		{"in capitals", httpedge.NewToken(secret), strings.ToUpper(secret), false},
		{"nothing", httpedge.NewToken(secret), "", false},
		{"nothing for no secret", httpedge.NewToken(""), "", false},
		{"nothing for the zero token", httpedge.Token{}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.token.Is(c.given); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestPrintedTokenShowsNoSecret(t *testing.T) {
	if got := fmt.Sprintf("%+v %#v", httpedge.NewToken("hunter2"), httpedge.NewToken("hunter2")); strings.Contains(got, "hunter2") {
		t.Error(got)
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "Bearer": "", "Bearer ": "", "Bearer abc": "abc", "bearer abc": "abc", "BEARER abc": "abc",
		"Basic abc": "", "abc": "", "Bearerabc": "", "Bearer a b": "a b",
	} {
		if got := httpedge.Bearer(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}

func TestSetRetryAfterRoundsUp(t *testing.T) {
	for wait, want := range map[time.Duration]http.Header{
		0:                       {},
		-time.Second:            {},
		time.Millisecond:        {"Retry-After": {"1"}},
		time.Second:             {"Retry-After": {"1"}},
		1500 * time.Millisecond: {"Retry-After": {"2"}},
		time.Hour:               {"Retry-After": {"3600"}},
	} {
		h := http.Header{}
		httpedge.SetRetryAfter(h, wait)
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("%v (-want +got):\n%s", wait, diff)
		}
	}
}
