package config_test

import (
	"strings"
	"testing"
)

func TestAllowedOriginsAreAsBrowsersSendThem(t *testing.T) {
	for origin, want := range map[string]bool{
		"https://backoffice.example": true, "http://localhost:3000": true, "http://[::1]:3000": true, "https://127.0.0.1": true,
		"*": false, "https://*.example": false, "https://backoffice.example/": false, "https://backoffice.example/path": false,
		"https://backoffice.example?x": false, "https://user@backoffice.example": false, "backoffice.example": false, "https://": false,
		"ftp://backoffice.example": false, "https://backoffice.example:": false, "https://backoffice.example:0": false,
		"https://backoffice.example:99999": false, "https://backoffice.example:x": false, "https://Backoffice.example": false, "null": false,
		"https://backoffice.example#x": false, "https://a b": false,
	} {
		_, err := parse(t, "--allowed-origins=https://fine.example,"+origin)
		if want != (err == nil) || err != nil && !strings.Contains(err.Error(), "--allowed-origins: ") {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

func TestTheLimitsHaveBounds(t *testing.T) {
	_, err := parse(t, "--max-jobs-per-user=-1", "--max-rows=-1", "--rate-per-second=-1", "--rate-burst=0", "--streams-per-user=201", "--table-timeout=1ms")
	if err == nil {
		t.Fatal("no error")
	}
	for _, flag := range []string{"max-jobs-per-user", "max-rows", "rate-per-second", "rate-burst", "streams-per-user", "table-timeout"} {
		if !strings.Contains(err.Error(), "--"+flag+": ") {
			t.Errorf("--%s is not told in %v", flag, err)
		}
	}
}
