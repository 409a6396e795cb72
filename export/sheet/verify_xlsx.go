package sheet

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/flate"
)

const (
	workbookPart = "xl/workbook.xml"
	workbookRels = "xl/_rels/workbook.xml.rels"
)

// requiredParts are those that no workbook of ours can be without.
var requiredParts = []string{"[Content_Types].xml", "_rels/.rels", workbookPart, workbookRels, "xl/styles.xml"}

func verifyXLSX(ctx context.Context, r io.ReaderAt, size int64) (Contents, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return Contents{}, fmt.Errorf("open the zip archive: %w", err)
	}
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	files := map[string]*zip.File{}
	for _, f := range z.File {
		if files[f.Name] != nil {
			return Contents{}, fmt.Errorf("part %s stands in the archive twice", f.Name)
		}
		files[f.Name] = f
	}
	for _, name := range requiredParts {
		if files[name] == nil {
			return Contents{}, fmt.Errorf("part %s is missing", name)
		}
	}
	sheets, err := dataSheets(files)
	if err != nil {
		return Contents{}, err
	}
	var c Contents
	for i, name := range sheets {
		rows, err := verifySheet(ctx, files[name])
		if err != nil {
			return Contents{}, fmt.Errorf("sheet %d: %w", i+1, err)
		}
		c.Sheets = append(c.Sheets, rows)
		delete(files, name)
	}
	for name, f := range files {
		if err := verifyPart(ctx, f); err != nil {
			return Contents{}, fmt.Errorf("part %s: %w", name, err)
		}
	}
	return c, nil
}

// dataSheets gives the parts of the workbook's sheets but the last, which is the
// info sheet.
func dataSheets(files map[string]*zip.File) ([]string, error) {
	var book struct {
		Sheets []struct {
			Name string `xml:"name,attr"`
			ID   string `xml:"http://schemas.openxmlformats.org/officeDocument/2006/relationships id,attr"`
		} `xml:"sheets>sheet"`
	}
	var rels struct {
		Relationships []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := errors.Join(decodePart(files[workbookPart], &book), decodePart(files[workbookRels], &rels)); err != nil {
		return nil, err
	}
	targets := map[string]string{}
	for _, r := range rels.Relationships {
		target := path.Join("xl", r.Target)
		if strings.HasPrefix(r.Target, "/") {
			target = r.Target[1:]
		}
		targets[r.ID] = target
	}
	var parts []string
	for i, s := range book.Sheets {
		part := targets[s.ID]
		if files[part] == nil {
			return nil, fmt.Errorf("sheet %d: its part is missing", i+1)
		}
		parts = append(parts, part)
	}
	if len(parts) < 2 {
		return nil, fmt.Errorf("the workbook has %d sheets; at least one of data and the info sheet are due", len(parts))
	}
	return parts[:len(parts)-1], nil
}

func decodePart(f *zip.File, to any) (err error) {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("open part %s: %w", f.Name, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := xml.NewDecoder(r).Decode(to); err != nil {
		return fmt.Errorf("read part %s: %w", f.Name, err)
	}
	return nil
}

// verifySheet reads a data sheet and gives its rows without the header.
func verifySheet(ctx context.Context, f *zip.File) (rows int64, err error) {
	r, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var scan sheetScan
	if err := readBlocks(ctx, r, scan.add); err != nil {
		return 0, err
	}
	return scan.end()
}

// verifyPart reads a part to its end, which checks its CRC, as XML.
func verifyPart(ctx context.Context, f *zip.File) (err error) {
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	d := xml.NewDecoder(r)
	for elements := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		token, err := d.RawToken()
		switch {
		case errors.Is(err, io.EOF) && elements > 0:
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			elements++
		case xml.CharData:
			if elements == 0 && len(bytes.TrimSpace(t)) > 0 {
				return errors.New("text stands before its first element")
			}
		}
	}
}
