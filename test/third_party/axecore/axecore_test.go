package axecore

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"
	"testing"
)

//go:embed README.md
var origin string

func TestTheScriptIsTheOneThatItsOriginNames(t *testing.T) {
	sum := sha256.Sum256([]byte(Script))
	if hash := hex.EncodeToString(sum[:]); !strings.Contains(origin, hash) {
		t.Errorf("the script's SHA-256 is %s, which README.md does not name", hash)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(Script, "/*! axe v"), "\n")
	if !strings.Contains(origin, "`axe-core` "+version+",") {
		t.Errorf("the script says it is version %q, which README.md does not name", version)
	}
}
