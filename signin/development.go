package signin

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"rowmill/internal/fault"
)

const maxForm = 8 << 10

// developing reports why there is no choice of roles for this call.
func (s *SignIn) developing(r *http.Request) error {
	if !s.cfg.Development {
		return fault.New(fault.NotFound, "There is nothing at this address.")
	}
	if !fromThisMachine(r) {
		return fault.New(fault.Forbidden, "Roles are chosen on this machine alone, at localhost.")
	}
	return nil
}

// chooseRole shows the roles of the policy.
func (s *SignIn) chooseRole(w http.ResponseWriter, r *http.Request) error {
	if err := s.developing(r); err != nil {
		return err
	}
	return s.show(w, http.StatusOK, page{
		Title: "Sign in for development", Roles: slices.Sorted(maps.Keys(s.cfg.Policy)), ReturnTo: localPath(r.URL.Query().Get("return_to")),
		Message: "This server runs on its own, on this machine. Choose whose part you play.",
	})
}

// takeRole signs in as a made-up user with the chosen role.
func (s *SignIn) takeRole(w http.ResponseWriter, r *http.Request) error {
	if err := s.developing(r); err != nil {
		return err
	}
	if err := s.origins.Check(r); err != nil {
		return fault.Wrap(err, fault.Forbidden, "Another site asked to sign you in. Nothing was done.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return fault.Wrap(err, fault.Invalid, "The form cannot be read.")
	}
	role := r.PostForm.Get("role")
	if _, known := s.cfg.Policy[role]; !known {
		return fault.New(fault.Invalid, "There is no such role.")
	}
	id := identity{Subject: developmentIssuer + "-" + role, Name: role, Roles: []string{role}}
	if given := r.PostForm.Get("properties"); strings.TrimSpace(given) != "" {
		id.Properties = chosenProperties(given)
	}
	if err := s.start(w, r, id, s.cfg.Now().Add(maxSession)); err != nil {
		return err
	}
	redirect(w, localPath(r.PostForm.Get("return_to")))
	return nil
}

// chosenProperties reads ids between commas as a claim would be read.
func chosenProperties(text string) []int64 {
	var list []any
	for part := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(part))
	}
	return propertiesOf(map[string]any{"properties": list}, "properties")
}
