// Package element owns <export-button>: the one module that puts the button on any
// page, embedded with the hash of its content, and how it is served. It knows
// nothing of the gateway that the button talks to.
package element

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"time"
)

var (
	//go:embed export-button.js
	module []byte
	//go:embed export-button.js
	files embed.FS
)

// Files holds the module, export-button.js, for who serves it in another way.
func Files() fs.FS { return files }

const (
	// Path is where the newest module is. Browsers ask for it again after five minutes.
	Path = "/assets/export-button.js"

	hashDigits = 12 // of SHA-256 in hex: enough to tell versions of one file apart

	immutable = "public, max-age=31536000, immutable"
	short     = "public, max-age=300, must-revalidate"
)

// Hash names the module's content: the first digits of its SHA-256 in hex.
func Hash() string {
	sum := sha256.Sum256(module)
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// HashedPath is where this very content is, for ever: a page that names it needs
// no second request until the content changes.
func HashedPath() string { return "/assets/export-button." + Hash() + ".js" }

// Handler serves the module at Path and at HashedPath, to GET and HEAD; all else
// is not found. Pages of every origin may load it: it holds no data.
func Handler() http.Handler {
	caching := map[string]string{Path: short, HashedPath(): immutable}
	tag := `"` + Hash() + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cache, known := caching[r.URL.Path]
		h := w.Header()
		switch {
		case !known:
			http.NotFound(w, r)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Type", "text/javascript; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", cache)
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(module))
	})
}
