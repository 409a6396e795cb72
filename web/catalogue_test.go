package web

import (
	"io/fs"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"rowmill/audit"
	"rowmill/export"
	"rowmill/home"
)

var verb = regexp.MustCompile(`%(\[\d\])?[sd]`)

func TestBothLanguagesHaveEveryText(t *testing.T) {
	hangul := regexp.MustCompile(`\p{Hangul}`)
	for key, entry := range catalogue {
		if strings.TrimSpace(entry.Korean) == "" || strings.TrimSpace(entry.English) == "" {
			t.Errorf("%s lacks a language: %+v", key, entry)
		}
		if hangul.MatchString(entry.English) || !hangul.MatchString(entry.Korean) && len(verb.ReplaceAllString(entry.Korean, "")) > 4 {
			t.Errorf("%s is in the wrong language: %+v", key, entry)
		}
		if ko, en := len(verb.FindAllString(entry.Korean, -1)), len(verb.FindAllString(entry.English, -1)); ko != en {
			t.Errorf("%s takes %d values in Korean and %d in English", key, ko, en)
		}
	}
	if len(catalogue) != len(listTexts)+len(workTexts)+len(homeTexts) {
		t.Error("a key is in both parts of the catalogue")
	}
}

// made are the starts of keys that are put together where they are used.
var made = []string{"problem.", "advice.", "job.", "phase.", "action.", "reservation.", "op.", "choose.op", "condition.", "parameter.", "js.", "detail.", "home.kind."}

func TestEveryTextIsUsedAndThere(t *testing.T) {
	var all strings.Builder
	for _, files := range []fs.FS{pageFiles, assetFiles} {
		err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".css") {
				return err
			}
			b, err := fs.ReadFile(files, path)
			all.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range regexp.MustCompile(`\.T "([^"]+)"`).FindAllStringSubmatch(all.String(), -1) {
		if _, ok := catalogue[m[1]]; !ok {
			t.Errorf("a page asks for %q, which the catalogue lacks", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`say\('([^']+)'`).FindAllStringSubmatch(all.String(), -1) {
		if _, ok := catalogue[spokenPrefix+m[1]]; !ok {
			t.Errorf("the module says %q, which the catalogue lacks", m[1])
		}
	}
	inGo := []string{"yes", "no", "duration.seconds", "duration.minutes", "duration.hours", "list.title", "exports.title", "audit.title", "about.title", "home.title", "sort.asc", "sort.desc"}
	for key := range catalogue {
		used := strings.Contains(all.String(), `"`+key+`"`) || slices.Contains(inGo, key) ||
			slices.ContainsFunc(made, func(start string) bool { return strings.HasPrefix(key, start) })
		if !used {
			t.Errorf("nobody asks for %q", key)
		}
	}
}

func TestMadeKeysAreThere(t *testing.T) {
	var keys []string
	for _, status := range jobStatuses {
		keys = append(keys, "job."+string(status))
		if status.Final() && status != export.Expired {
			keys = append(keys, "js."+string(status))
		}
	}
	for _, action := range audit.Actions() {
		keys = append(keys, "action."+string(action))
	}
	for _, kind := range home.Kinds() {
		keys = append(keys, "home.kind."+string(kind))
	}
	for _, phase := range []export.Phase{export.PhaseSnapshot, export.PhaseFetch, export.PhaseVerify, export.PhasePublish} {
		keys = append(keys, "phase."+string(phase), "js.phase."+string(phase))
	}
	for kind := range statusOf {
		if name := kind.String(); name != "overloaded" {
			keys = append(keys, "problem."+name, "advice."+name)
		}
	}
	for _, key := range append(keys, "problem.internal", "advice.internal") {
		if _, ok := catalogue[key]; !ok {
			t.Errorf("the catalogue lacks %q", key)
		}
	}
}

func TestForms(t *testing.T) {
	seoul := time.FixedZone("Asia/Seoul", 9*60*60)
	en, ko := speech{"en", clock{seoul}}, speech{"ko", clock{seoul}}
	at := time.Date(2026, 11, 30, 15, 5, 0, 0, time.UTC)
	got := []string{
		en.At(at), ko.At(at), en.At(time.Time{}), en.Number(-1234567), en.Number(999), grouped("-1234.50"), grouped("0.10"),
		en.Size(999), en.Size(1000), en.Size(23_100_000), en.Size(875_400), en.Lasted(1234 * time.Millisecond), ko.Lasted(75 * time.Second), en.Lasted(2*time.Hour + 5*time.Minute),
	}
	want := []string{
		"1 Dec 2026 00:05", "2026. 12. 1. 00:05", "", "-1,234,567", "999", "-1,234.50", "0.10",
		"999 B", "1.0 kB", "23.1 MB", "875 kB", "1.2 s", "1분 15초", "2 h 5 min",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Text has a contrast of at least 4.5 with what it stands on, in light and dark
// (WCAG 2.2, 1.4.3).
func TestContrast(t *testing.T) {
	css, err := fs.ReadFile(assetFiles, "asset/style.css")
	if err != nil {
		t.Fatal(err)
	}
	colours := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\)`).FindAllStringSubmatch(string(css), -1) {
		colours[m[1]] = [2]string{m[2], m[3]}
	}
	for text, grounds := range map[string][]string{
		"ink": {"back", "surface", "box", "tint"}, "soft": {"back", "surface", "box", "tint"}, "accent": {"back", "surface", "box", "tint"},
		"on": {"accent"}, "bad": {"surface", "back"}, "good": {"surface"}, "warn": {"surface"},
	} {
		for _, ground := range grounds {
			for mode := range 2 {
				if c := contrast(t, colours[text][mode], colours[ground][mode]); c < 4.5 {
					t.Errorf("%s on %s has %.2f in mode %d", text, ground, c, mode)
				}
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is WCAG's relative luminance of #rgb or #rrggbb.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	digits := strings.TrimPrefix(colour, "#")
	if len(digits) == 3 {
		digits = string([]byte{digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]})
	}
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 {
		t.Fatalf("%q is no colour", colour)
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(n>>(16-8*i)&0xff) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
