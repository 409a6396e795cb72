package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed asset/*
var assetFiles embed.FS

// buttonModule is the one asset that others embed too, so it also has an address
// that stays.
const buttonModule = "export-button.js"

// asset is a file that is served as it is.
type asset struct {
	body, packed []byte // packed: gzip, or nil where it is no smaller
	media        string
	hash         string
}

// assets are the files by their plain name; they are served under names that
// carry their hash, and so for ever.
type assets map[string]asset

var mediaOf = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

func loadAssets(modules fs.FS) (assets, error) {
	a := assets{}
	own, err := fs.Sub(assetFiles, "asset")
	if err != nil {
		return nil, fmt.Errorf("web assets: %w", err)
	}
	for _, name := range []string{"style.css", "app.js", "icon.svg"} {
		if err := a.load(own, name); err != nil {
			return nil, err
		}
	}
	if modules == nil {
		return a, nil
	}
	if err := a.load(modules, buttonModule); err != nil {
		return nil, err
	}
	return a, nil
}

func (a assets) load(from fs.FS, name string) error {
	body, err := fs.ReadFile(from, name)
	if err != nil {
		return fmt.Errorf("web asset %s: %w", name, err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(body)
	if err := errors.Join(err, z.Close()); err != nil {
		return fmt.Errorf("web asset %s: %w", name, err)
	}
	sum := sha256.Sum256(body)
	file := asset{body: body, media: mediaOf[path.Ext(name)], hash: hex.EncodeToString(sum[:6])}
	if b.Len() < len(body) {
		file.packed = b.Bytes()
	}
	a[name] = file
	return nil
}

func (a assets) has(name string) bool { _, ok := a[name]; return ok }

// path gives the address of the file as it is now.
func (a assets) path(name string) string {
	ext := path.Ext(name)
	return "/assets/" + strings.TrimSuffix(name, ext) + "." + a[name].hash + ext
}

// find gives the file of a served name; lasting is false for a name without a hash.
func (a assets) find(served string) (file asset, lasting, ok bool) {
	for name, file := range a {
		switch served {
		case strings.TrimPrefix(a.path(name), "/assets/"):
			return file, true, true
		case name:
			return file, false, name == buttonModule
		}
	}
	return asset{}, false, false
}

// ServeHTTP answers for an asset. They hold no data and may be read by every
// page: the export-button stands in other backoffices.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, lasting, ok := a.find(r.PathValue("name"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", `"`+file.hash+`"`)
	h.Set("Cache-Control", "public, max-age=300")
	if lasting {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), file.hash) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := file.body
	if file.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = file.packed
	}
	_, _ = w.Write(body) // a reader who has gone does not care
}
