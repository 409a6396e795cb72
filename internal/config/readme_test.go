package config_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"rowmill/internal/config"
)

// setting is a row of the README's table of settings.
type setting struct{ Flag, Variable, Default string }

var settingRow = regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)` \\| `(ROWMILL_[A-Z0-9_]+)` \\| ([^|]+) \\|")

// inWords tells the README's word for a default that is none, such as "embedded
// SQLite", from the default itself.
var inWords = regexp.MustCompile("^[^`]|^`files` in ")

func TestTheReadmeHasEachSettingWithItsDefault(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]setting{}
	for _, row := range settingRow.FindAllStringSubmatch(string(readme), -1) {
		s := setting{Flag: row[1], Variable: row[2]}
		if !inWords.MatchString(row[3]) {
			s.Default = row[3][1 : len(row[3])-1]
		}
		documented[s.Flag] = s
	}
	parser, err := kong.New(&config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]setting{}
	for _, f := range parser.Model.Flags {
		if len(f.Envs) > 0 { // not --help
			settings[f.Name] = setting{f.Name, f.Envs[0], f.Default}
		}
	}
	if d := cmp.Diff(settings, documented); d != "" {
		t.Errorf("settings, README: %s", d)
	}
}
