package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"rowmill/access"
	"rowmill/audit"
	"rowmill/export"
	"rowmill/internal/table"
	"rowmill/web"
)

var everyPage = []string{"/reservations", "/reservations?check_in_gte=x", "/reservations/4711", "/reservations/x", "/exports", "/home", "/audit", "/audit?reservation=1", "/about"}

func TestStrangersAreLedToTheSignIn(t *testing.T) {
	w := newWorld(t, nil)
	for _, target := range []string{"/reservations?q=a&_page=2", "/reservations/4711", "/exports", "/audit"} {
		rec := w.stranger(target)
		want := "/auth/login?" + url.Values{"return_to": {target}}.Encode()
		if got := rec.Header().Get("Location"); rec.Code != http.StatusSeeOther || got != want {
			t.Errorf("%s: %d to %q", target, rec.Code, got)
		}
	}
	if rec := w.stranger("/"); rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != "/home" {
		t.Errorf("/: %d", rec.Code)
	}
	rec := w.stranger("/about")
	wantAll(t, rec, 200, "/api/v1/exports", "7 days", `href="/openapi.json"`, "http://localhost:8080", `href="/auth/login?return_to=%2fabout"`)
	wantNone(t, rec, "<script", "/auth/logout")
	if len(w.queries) > 0 {
		t.Error("a stranger's call reads rows")
	}
}

func TestEachPageNeedsItsPermission(t *testing.T) {
	for _, c := range []struct {
		target  string
		enough  []access.Permission
		missing access.Permission
	}{
		{"/reservations", []access.Permission{access.ReadReservations}, access.ReadReservations},
		{"/reservations/4711", []access.Permission{access.ReadReservations}, access.ReadReservations},
		{"/exports", []access.Permission{access.CreateExports, access.ReadAllExports}, access.CreateExports},
		{"/audit", []access.Permission{access.ReadAudit}, access.ReadAudit},
		{"/home", []access.Permission{access.ReadReservations}, access.ReadReservations},
	} {
		for _, permission := range access.Permissions() {
			w := newWorld(t, nil)
			rec := w.get(with(permission), c.target)
			allowed := false
			for _, enough := range c.enough {
				allowed = allowed || enough == permission
			}
			if allowed {
				wantAll(t, rec, 200)
				continue
			}
			wantAll(t, rec, 403, "You may not see this", "<code>"+string(c.missing)+"</code>")
			if diff := cmp.Diff([]audit.Event{{Action: audit.Deny, Detail: string(c.missing)}}, w.recorded); diff != "" {
				t.Errorf("%s with %s: %s", c.target, permission, diff)
			}
			if len(w.queries) > 0 {
				t.Errorf("%s with %s reads rows", c.target, permission)
			}
		}
	}
}

func TestMenuHasWhatTheCallerMaySee(t *testing.T) {
	rec := newWorld(t, nil).get(with(access.ReadReservations), "/reservations")
	wantAll(t, rec, 200, `<a href="/reservations" aria-current="page">`)
	wantNone(t, rec, `<a href="/exports"`, `<a href="/audit"`)
	none := newWorld(t, func(c *web.Config) { c.Home = nil })
	wantNone(t, none.get(with(access.ReadReservations), "/reservations"), `href="/home"`)
	if rec := none.stranger("/"); rec.Header().Get("Location") != "/reservations" {
		t.Errorf("without a board / leads to %q", rec.Header().Get("Location"))
	}
}

func TestLanguages(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct {
		name    string
		headers []string
		korean  bool
	}{
		{"none", nil, false},
		{"Korean", []string{"Accept-Language", "ko-KR,ko;q=0.9,en-US;q=0.8"}, true},
		{"English first", []string{"Accept-Language", "en-GB,ko;q=0.5"}, false},
		{"neither", []string{"Accept-Language", "fr"}, false},
		{"nonsense", []string{"Accept-Language", ";;;"}, false},
		{"the choice wins", []string{"Accept-Language", "ko", "Cookie", "lang=en"}, false},
		{"the choice", []string{"Cookie", "lang=ko"}, true},
		{"a choice that is none", []string{"Cookie", "lang=xx"}, false},
	} {
		rec := w.get(boss, "/reservations", c.headers...)
		if korean := strings.Contains(rec.Body.String(), `<html lang="ko">`); korean != c.korean {
			t.Errorf("%s: Korean %t", c.name, korean)
		}
	}
	for _, target := range everyPage {
		rec := w.get(boss, target, "Cookie", "lang=ko")
		wantAll(t, rec, rec.Code, `<html lang="ko">`, "로그아웃", "본문으로 건너뛰기")
	}
	wantAll(t, w.get(boss, "/reservations", "Cookie", "lang=ko"), 200, "2016. 3. 12.", "1건 중 1–1", "고객명", "취소")
	rec := newWorld(t, func(c *web.Config) { c.Language = "ko" }).get(boss, "/reservations", "Accept-Language", "fr")
	wantAll(t, rec, 200, `<html lang="ko">`)
}

func TestLanguageIsSwitchedInPlace(t *testing.T) {
	w := newWorld(t, func(c *web.Config) { c.Secure = true })
	rec := w.get(boss, "/reservations?_page=2&q=a")
	wantAll(t, rec, 200, `href="/reservations?_page=2&amp;lang=ko&amp;q=a"`)
	rec = w.get(boss, "/reservations?_page=2&lang=ko&q=a")
	if got := rec.Header().Get("Location"); rec.Code != http.StatusSeeOther || got != "/reservations?_page=2&q=a" {
		t.Errorf("%d to %q", rec.Code, got)
	}
	if got := rec.Header().Get("Set-Cookie"); got != "lang=ko; Path=/; Max-Age=31536000; HttpOnly; Secure; SameSite=Lax" {
		t.Errorf("cookie %q", got)
	}
	if got := w.get(boss, "/exports?lang=xx").Header().Get("Set-Cookie"); got != "" {
		t.Errorf("a language that is none is kept: %q", got)
	}
}

func TestDevelopmentSignInIsSaidOnEveryPage(t *testing.T) {
	w := newWorld(t, func(c *web.Config) { c.Development = true })
	for _, target := range everyPage {
		rec := w.get(boss, target)
		wantAll(t, rec, rec.Code, "Development sign-in.")
	}
	wantNone(t, newWorld(t, nil).get(boss, "/reservations"), "Development sign-in.")
}

var active = regexp.MustCompile(`(?i)<style|style=|\son[a-z]+=|<script(?: type="module")?>|javascript:|(?:src|href|action)="(?:https?:)?//`)

func TestPagesRunNothingButTheirOwnModules(t *testing.T) {
	w := newWorld(t, func(c *web.Config) { c.FormOrigins = []string{"https://id.example"} })
	w.jobs = []export.Job{job("j1", nil)}
	w.events = []audit.Event{{ID: "e1", Action: audit.Create, JobID: "j1"}}
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self' https://id.example; base-uri 'none'; frame-ancestors 'none'"
	for _, target := range everyPage {
		rec := w.get(boss, target)
		h := rec.Header()
		if h.Get("Content-Security-Policy") != policy || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", target, h)
		}
		if found := active.FindString(rec.Body.String()); found != "" {
			t.Errorf("%s has %q", target, found)
		}
		wantAll(t, rec, rec.Code, `<a class="skip" href="#main">`, `<main id="main"`, `aria-live="polite"`, "<h")
	}
}

// The first page, with all that it loads, is small: it is opened on a phone, too.
func TestFirstPageIsSmall(t *testing.T) {
	// Hexadecimal noise packs to half: it stands for the real module's 17 kB on the way.
	noise := make([]byte, 17_000)
	if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *web.Config) {
		c.Modules = fstest.MapFS{"export-button.js": {Data: hex.AppendEncode([]byte("// "), noise)}}
	})
	one := w.rows[0]
	w.rows = nil
	for range 20 {
		w.rows = append(w.rows, one)
	}
	one["guest_name"] = table.TextOf("신지민")
	w.total = 119_390
	rec := w.get(boss, "/reservations", "Cookie", "lang=ko")
	size, requests := rec.Body.Len(), 1
	for _, m := range regexp.MustCompile(`"(/assets/[^"]+)"`).FindAllStringSubmatch(rec.Body.String(), -1) {
		asset := w.stranger(m[1], "Accept-Encoding", "gzip")
		if asset.Code != 200 {
			t.Errorf("%s: %d", m[1], asset.Code)
		}
		requests++
		size += asset.Body.Len()
	}
	if size > 60_000 || requests < 4 || requests > 6 {
		t.Errorf("%d bytes in %d requests", size, requests)
	}
}

func TestAssetsLastByTheirHash(t *testing.T) {
	w := newWorld(t, nil)
	body := w.get(boss, "/reservations").Body.String()
	style := regexp.MustCompile(`/assets/style\.[0-9a-f]{12}\.css`).FindString(body)
	plain, packed := w.stranger(style), w.stranger(style, "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	var unpacked bytes.Buffer
	if _, err := unpacked.ReadFrom(z); err != nil || unpacked.String() != plain.Body.String() {
		t.Errorf("the packed file differs: %v", err)
	}
	for _, c := range []struct {
		name, cache string
		code        int
	}{
		{style, "public, max-age=31536000, immutable", 200},
		{"/assets/export-button.js", "public, max-age=300", 200},
		{"/assets/style.css", "", 404},
		{"/assets/style.000000000000.css", "", 404},
		{"/assets/..%2fweb.go", "", 404},
	} {
		rec := w.stranger(c.name)
		if rec.Code != c.code || rec.Header().Get("Cache-Control") != c.cache {
			t.Errorf("%s: %d %q", c.name, rec.Code, rec.Header().Get("Cache-Control"))
		}
	}
	etag := w.stranger("/assets/export-button.js").Header().Get("ETag")
	if rec := w.stranger("/assets/export-button.js", "If-None-Match", etag); rec.Code != http.StatusNotModified || rec.Body.Len() > 0 {
		t.Errorf("asked again: %d", rec.Code)
	}
}

func TestConfigIsChecked(t *testing.T) {
	_, err := web.New(web.Config{Language: "fr"})
	for _, want := range []string{"Reservations", "Jobs", "Language"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	w := newWorld(t, nil)
	if _, err := web.New(web.Config{Reservations: w, Jobs: w, Modules: fstest.MapFS{}}); err == nil {
		t.Error("modules without the button are taken")
	}
}
