package web

import (
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/text/language"

	"rowmill/reservation"
)

// languages are those that the catalogue has, in the matcher's order.
var languages = []string{"en", "ko"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Korean})

const languageCookie = "lang"

// speech is a language with its texts and forms, and the place of the times.
type speech struct {
	Lang string
	clock
}

// T gives the text with the key, its arguments put in.
func (s speech) T(key string, args ...any) string {
	entry, ok := catalogue[key]
	if !ok {
		return key
	}
	text := entry.English
	if s.Lang == "ko" {
		text = entry.Korean
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Or gives the text with the key, or the value itself where the catalogue has
// none: what stands in the data may be new.
func (s speech) Or(prefix, value string) string {
	if _, ok := catalogue[prefix+value]; ok {
		return s.T(prefix + value)
	}
	return value
}

// FieldTitle gives the field's head.
func (s speech) FieldTitle(f reservation.Field) string {
	if s.Lang == "ko" {
		return f.Titles.Korean
	}
	return f.Titles.English
}

// speechFor follows the reader's choice, then the browser's.
func (p *pages) speechFor(r *http.Request) speech {
	s := speech{Lang: p.cfg.Language, clock: clock{p.cfg.Location}}
	if c, err := r.Cookie(languageCookie); err == nil && slices.Contains(languages, c.Value) {
		s.Lang = c.Value
		return s
	}
	wanted, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(wanted) == 0 {
		return s
	}
	// A language that is only near, as English is to a reader of French by the
	// matcher's tables, is no reason to leave the configured one.
	if _, i, sure := matcher.Match(wanted...); sure >= language.High {
		s.Lang = languages[i]
	}
	return s
}

// switchLanguage keeps the language that the address asks for and leads to the
// address without it.
func (p *pages) switchLanguage(w http.ResponseWriter, r *http.Request) (switched bool) {
	query := r.URL.Query()
	wanted := query.Get("lang")
	if !query.Has("lang") {
		return false
	}
	if slices.Contains(languages, wanted) {
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure wherever the pages are served over HTTPS
			Name: languageCookie, Value: wanted, Path: "/", MaxAge: 365 * 24 * 60 * 60,
			HttpOnly: true, Secure: p.cfg.Secure, SameSite: http.SameSiteLaxMode,
		})
	}
	query.Del("lang")
	to := r.URL.EscapedPath()
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // to is the path that was routed here, so one of ours
	return true
}
