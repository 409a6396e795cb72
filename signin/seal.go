package signin

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// minKey is the fewest bytes of a secret: as many as the key made of it.
const minKey = 32

// sealer encrypts and authenticates what browsers keep for us: AES-256-GCM with a
// random nonce, under a key derived from each secret by HKDF (RFC 5869).
type sealer struct{ aeads []cipher.AEAD }

var errSeal = errors.New("the seal does not hold")

func newSealer(secrets []string) (sealer, error) {
	var s sealer
	for _, secret := range secrets {
		key, err := hkdf.Key(sha256.New, []byte(secret), nil, "rowmill cookies v1", minKey)
		if err != nil {
			return sealer{}, fmt.Errorf("derive the cookie key: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return sealer{}, fmt.Errorf("make the cookie cipher: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return sealer{}, fmt.Errorf("make the cookie cipher: %w", err)
		}
		s.aeads = append(s.aeads, aead)
	}
	return s, nil
}

// seal gives v for the purpose, by the first secret. A text that was sealed for one
// purpose does not open for another.
func (s sealer) seal(purpose string, v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("seal %s: %w", purpose, err)
	}
	sealed := s.aeads[0].Seal(nil, nil, plain, []byte(purpose)) //nolint:gosec // this cipher makes a random nonce of its own
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// open reads what was sealed for the purpose by any of the secrets.
func (s sealer) open(purpose, sealed string, v any) error {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return errSeal
	}
	for _, aead := range s.aeads {
		plain, err := aead.Open(nil, nil, b, []byte(purpose))
		if err == nil {
			return json.Unmarshal(plain, v)
		}
	}
	return errSeal
}
