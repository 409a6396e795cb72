package export

import (
	"cmp"
	"slices"

	"rowmill/export/sheet"
)

// Dataset is something that can be exported: a catalog and a source.
type Dataset struct {
	Name     string
	Titles   map[string]string // by language: what a sheet of it is called
	Columns  []Column
	Defaults []string            // keys of the columns of an export that names none
	Sort     string              // the order of an export that names none
	Check    func(Request) error // Invalid if the filter or the sort is not the source's
	Source   Source
}

// Column gives the column with the key.
func (d Dataset) Column(key string) (Column, bool) {
	i := slices.IndexFunc(d.Columns, func(c Column) bool { return c.Key == key })
	if i < 0 {
		return Column{}, false
	}
	return d.Columns[i], true
}

// Title gives the dataset's name for people in the language, or in English.
func (d Dataset) Title(language string) string {
	return cmp.Or(d.Titles[language], d.Titles["en"], d.Name)
}

// Title gives the column's head in the language, or in English.
func (c Column) Title(language string) string {
	return cmp.Or(c.Titles[language], c.Titles["en"], c.Key)
}

// Sheet gives the column as a file in the language has it.
func (c Column) Sheet(language string) sheet.Column {
	return sheet.Column{Title: c.Title(language), Type: c.Type, Scale: c.Scale, Width: c.Width, Format: c.Format}
}

// addFields adds what c needs to fields, each once, and notes where its value will stand.
func addFields(fields []string, at []int, c Column) ([]string, []int) {
	for i, f := range c.Fields {
		place := slices.Index(fields, f)
		if place < 0 {
			place = len(fields)
			fields = append(fields, f)
		}
		if i == 0 {
			at = append(at, place)
		}
	}
	return fields, at
}
