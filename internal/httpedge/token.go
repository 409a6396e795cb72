// Package httpedge is what Rowmill's two HTTP servers do alike at their edge: they
// tell who bears the token, name a problem (RFC 9457), and say when to come back.
// Where their contracts differ, as in statuses, texts and bodies, each has its own.
package httpedge

import (
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// Challenge is the WWW-Authenticate value of an answer to a caller without the
// token; an error attribute may follow (RFC 6750, 3).
const Challenge = `Bearer realm="rowmill"`

// Token knows a secret by its hash, so that printing it shows nothing. The zero
// Token is nobody's.
type Token struct {
	sum [sha256.Size]byte
	set bool
}

// NewToken returns the Token of a secret; that of "" is nobody's.
func NewToken(secret string) Token {
	return Token{sum: sha256.Sum256([]byte(secret)), set: secret != ""}
}

// Is reports whether given is the secret. The time it takes says nothing of how
// much of it is right, nor of the secret's length.
func (t Token) Is(given string) bool {
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 && t.set
}

// Bearer gives what an Authorization header's bearer shows (RFC 6750, 2.1), "" if
// the header is empty or of another scheme.
func Bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}
