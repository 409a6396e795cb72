package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

var (
	//go:embed page/index.html
	pageHTML string
	//go:embed page/style.css
	pageCSS template.CSS // ours, not a caller's: the page takes it as it is
)

// landingPage makes the page once: it holds no data. Its policy allows its own
// style sheet and nothing else.
func landingPage(cfg Config) (page []byte, csp string, err error) {
	t, err := template.New("index.html").Parse(pageHTML)
	if err != nil {
		return nil, "", fmt.Errorf("landing page: %w", err)
	}
	base := cfg.BaseURL
	if base == "" {
		base = "http://localhost:8080"
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"CSS": pageCSS, "Base": base, "Days": int(cfg.Retention.Hours() / 24),
	})
	if err != nil {
		return nil, "", fmt.Errorf("landing page: %w", err)
	}
	sum := sha256.Sum256([]byte(pageCSS))
	csp = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return b.Bytes(), csp, nil
}

func (s *Server) pageRoutes() {
	register(s, huma.Operation{
		OperationID: "landing-page", Method: http.MethodGet, Path: "/", Tags: []string{"About"},
		Summary:   "What this is and how to call it",
		Responses: response("A page", "text/html", text("")),
	}, func(context.Context, *struct{}) (*bytesOutput, error) {
		return &bytesOutput{ContentType: "text/html; charset=utf-8", CacheControl: "no-cache", Policy: s.pageCSP, Body: s.page}, nil
	}, http.StatusInternalServerError)
}
