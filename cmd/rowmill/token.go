package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tokenFile is where an embedded gateway keeps the token it made up.
const tokenFile = "token"

// publicToken gives the configured token, or the embedded gateway's own, made
// once and kept in the data directory for its owner alone. Where users sign in at
// an issuer, there is no token but a configured one.
func (a *app) publicToken(ctx context.Context) (string, error) {
	if a.cfg.Token != "" || a.cfg.Issuer != "" {
		return a.cfg.Token, nil
	}
	path := filepath.Join(a.cfg.DataDir, tokenFile)
	token, err := readToken(path)
	if errors.Is(err, fs.ErrNotExist) {
		token = rand.Text()
		err = os.WriteFile(path, []byte(token+"\n"), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keep the token in the data directory: %w", err)
	}
	a.cfg.Token = token
	a.log.InfoContext(ctx, "the public API takes the bearer token in this file", "file", path)
	return token, nil
}

func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if len(token) < 16 {
		return "", fmt.Errorf("%s holds no token of at least 16 characters", path)
	}
	return token, nil
}
