package signin

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"

	"rowmill/access"
	"rowmill/internal/fault"
)

// identity is what is known of a caller from claims or from a session. Its JSON is
// what a session cookie holds.
type identity struct {
	Subject    string   `json:"sub"`
	Name       string   `json:"name"`
	Roles      []string `json:"roles"`
	Properties []int64  `json:"properties"` // null: all; []: none
}

const (
	maxSubject = 255 // OpenID Connect Core 1.0, 2; as many as a job's requester may have
	maxName    = 200
)

// identify reads the claims of a verified token.
func (s *SignIn) identify(token *oidc.IDToken) (identity, error) {
	var raw json.RawMessage
	if err := token.Claims(&raw); err != nil {
		return identity{}, fault.Wrap(err, fault.Unauthorized, "The token cannot be read.")
	}
	claims, err := decodeClaims(raw)
	if err != nil {
		return identity{}, fault.Wrap(err, fault.Unauthorized, "The token cannot be read.")
	}
	if !isSubject(token.Subject) {
		return identity{}, fault.New(fault.Unauthorized, "The token names no subject that is allowed here.")
	}
	id := identity{Subject: token.Subject, Name: nameOf(claims), Roles: s.rolesOf(claims)}
	if s.cfg.PropertiesClaim != "" {
		id.Properties = propertiesOf(claims, s.cfg.PropertiesClaim)
	}
	return id, nil
}

// isSubject reports whether a caller may be known by s. A database may take a name
// for equal with and without spaces behind it, a reader with and without what is not
// seen; the names of those who are no users are nobody's.
func isSubject(s string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	return s != "" && len(s) <= maxSubject && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, odd) &&
		s != Subject && s != access.System
}

// decodeClaims keeps numbers as they are written: a large id must not become a float.
func decodeClaims(raw []byte) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var claims map[string]any
	err := d.Decode(&claims)
	return claims, err
}

// claim finds a claim by its name, or by the path through objects that the name
// is. Some issuers use addresses, which have dots, as names: those go first.
func claim(claims map[string]any, path string) any {
	if v, found := claims[path]; found {
		return v
	}
	first, rest, nested := strings.Cut(path, ".")
	inner, ok := claims[first].(map[string]any)
	if !nested || !ok {
		return nil
	}
	return claim(inner, rest)
}

func nameOf(claims map[string]any) string {
	for _, key := range []string{"name", "preferred_username"} {
		if name, _ := claims[key].(string); name != "" && utf8.ValidString(name) {
			runes := []rune(name)
			return string(runes[:min(maxName, len(runes))])
		}
	}
	return ""
}

// rolesOf gives the roles that the policy knows: an issuer may send many more,
// which a cookie would have to hold.
func (s *SignIn) rolesOf(claims map[string]any) (roles []string) {
	take := func(v any) {
		name, _ := v.(string)
		if _, known := s.cfg.Policy[name]; known {
			roles = append(roles, name)
		}
	}
	switch v := claim(claims, s.cfg.RolesClaim).(type) {
	case string:
		take(v)
	case []any:
		for _, one := range v {
			take(one)
		}
	}
	return roles
}

// propertiesOf gives the ids in the claim. If it is missing or anything in it is
// not an id, they are none: who cannot be limited rightly sees nothing.
func propertiesOf(claims map[string]any, path string) []int64 {
	list, ok := claim(claims, path).([]any)
	if !ok {
		return []int64{}
	}
	ids := make([]int64, 0, len(list))
	for _, v := range list {
		var text string
		switch v := v.(type) {
		case json.Number:
			text = v.String()
		case string:
			text = v
		}
		id, err := strconv.ParseUint(text, 10, 64)
		if err != nil || id == 0 || id > math.MaxInt64 {
			return []int64{}
		}
		ids = append(ids, int64(id))
	}
	return ids
}

// principal says what the caller may do by the policy of today.
func (s *SignIn) principal(id identity) access.Principal {
	granted, maxRows := s.cfg.Policy.Grant(id.Roles)
	return access.Principal{
		Subject: id.Subject, Name: id.Name, Roles: id.Roles, Permissions: granted, Properties: id.Properties, MaxRows: maxRows,
	}
}
