package web

import (
	"encoding/json"
	"maps"
	"strings"
)

// text is one text in both languages.
type text struct{ Korean, English string }

// spokenPrefix is that of the texts that the module says.
const spokenPrefix = "js."

// Spoken gives the module's texts, as JSON.
func (s speech) Spoken() string {
	texts := map[string]string{}
	for key := range catalogue {
		if name, ok := strings.CutPrefix(key, spokenPrefix); ok {
			texts[name] = s.T(key)
		}
	}
	b, err := json.Marshal(texts)
	if err != nil {
		return "{}" // texts always marshal
	}
	return string(b)
}

// catalogue is every text of the pages. Texts of the data, such as a field's
// titles, are the data's own.
var catalogue = joined(listTexts, workTexts, homeTexts)

func joined(parts ...map[string]text) map[string]text {
	all := map[string]text{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}
