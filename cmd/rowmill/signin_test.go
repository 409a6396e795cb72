package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rowmill/gateway"
	"rowmill/internal/config"
)

// embeddedApp is a process that needs no other, on free ports.
func embeddedApp(t *testing.T, change func(*config.Config)) *app {
	t.Helper()
	cfg, err := config.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	cfg.DataDir, cfg.GatewayAddr, cfg.ReservationsAddr = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	change(cfg)
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	a, err := newApp(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestADeveloperSignsInByRoleOfTheConfiguredPolicy(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(policy, []byte(`{"clerk":{"permissions":["reservations:read"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := embeddedApp(t, func(c *config.Config) { c.Policy = policy })
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- a.run(ctx) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	browser := &http.Client{Jar: jar, Transport: transport}
	form := url.Values{"role": {"clerk"}, "return_to": {"/api/v1/me"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.gateway.url()+"/auth/development", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := browser.Do(r) // which leads on to who it is now
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	var me gateway.MeView
	if err := json.Unmarshal(body, &me); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if me.Subject != "development-clerk" || len(me.Permissions) != 1 || !me.Development {
		t.Errorf("got %+v", me)
	}
}

func TestTheGatewayStartsWithoutItsIssuerAndMakesUpNoToken(t *testing.T) {
	a := embeddedApp(t, func(c *config.Config) {
		c.Issuer, c.ClientID, c.BaseURL = "http://127.0.0.1:1", "rowmill", "https://rowmill.example"
	})
	defer func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := os.Stat(filepath.Join(a.cfg.DataDir, tokenFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a token that may do everything: %v", err)
	}
}

func TestAPolicyThatCannotBeReadStopsTheStart(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(wrong, []byte(`{"clerk":{"permissions":["all"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{wrong: `no permission "all"`, wrong + ".none": "open the policy"} {
		if _, err := readPolicy(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
