// Package element owns <export-button>: the one module that puts the button on any
// page, embedded for the gateway's pages to serve. It knows nothing of the gateway
// that the button talks to.
package element

import (
	"embed"
	"io/fs"
)

//go:embed export-button.js
var files embed.FS

// Files holds the module, export-button.js.
func Files() fs.FS { return files }
