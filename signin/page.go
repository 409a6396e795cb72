package signin

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
)

var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/style.css
	pageCSS template.CSS // ours, not a caller's: the page takes it as it is

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
	pagePolicy   = policyOf(pageCSS)
)

// page is what people read here: a message, a way on, or the choice of a role.
type page struct {
	Title    string
	Message  string
	Again    string // where to try again; "": nowhere
	Roles    []string
	ReturnTo string
}

// CSS gives the style sheet.
func (page) CSS() template.CSS { return pageCSS }

// policyOf lets a page have its own style and send its form here, and nothing else.
func policyOf(css template.CSS) string {
	sum := sha256.Sum256([]byte(css))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

func (s *SignIn) show(w http.ResponseWriter, status int, p page) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("sign-in page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // who has gone does not read it
	return nil
}

var statusOf = map[fault.Kind]int{
	fault.Invalid:      http.StatusBadRequest,
	fault.NotFound:     http.StatusNotFound,
	fault.Unauthorized: http.StatusUnauthorized,
	fault.Forbidden:    http.StatusForbidden,
	fault.Unavailable:  http.StatusServiceUnavailable,
}

// answer shows a handler's error as a page.
func (s *SignIn) answer(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := handle(w, r)
		if err == nil {
			return
		}
		status, known := statusOf[fault.KindOf(err)]
		if !known {
			status = http.StatusInternalServerError
		}
		level := s.cfg.Logger.WarnContext
		if status >= http.StatusInternalServerError {
			level = s.cfg.Logger.ErrorContext
			httpedge.SetRetryAfter(w.Header(), retryAfter)
		}
		level(r.Context(), "sign-in failed", "path", r.URL.Path, "status", status, "error", err)
		p := page{Title: "Not signed in", Message: fault.Message(err)}
		if status != http.StatusNotFound {
			p.Again = "/auth/login?" + url.Values{"return_to": {localPath(r.URL.Query().Get("return_to"))}}.Encode()
		}
		if err := s.show(w, status, p); err != nil {
			http.Error(w, fault.Message(err), http.StatusInternalServerError)
		}
	}
}
