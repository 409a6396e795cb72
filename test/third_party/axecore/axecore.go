// Package axecore carries axe-core, Deque's checker of pages' accessibility, for
// the browser tests. The script is theirs, unchanged; README.md says where it is
// from and under which licence. No program of the product holds it.
package axecore

import _ "embed"

// Script defines window.axe, or self.axe in an isolated world.
//
//go:embed axe.min.js
var Script string
