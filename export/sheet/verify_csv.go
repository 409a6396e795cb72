package sheet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

func verifyCSV(ctx context.Context, r io.Reader) (Contents, error) {
	mark := make([]byte, len(byteOrderMark))
	if _, err := io.ReadFull(r, mark); err != nil || string(mark) != byteOrderMark {
		return Contents{}, errors.Join(errors.New("the byte order mark is missing"), err)
	}
	var scan csvScan
	if err := readBlocks(ctx, r, scan.add); err != nil {
		return Contents{}, err
	}
	rows, err := scan.end()
	if err != nil {
		return Contents{}, err
	}
	return Contents{Sheets: []int64{rows}}, nil
}

// csvScan counts records as strictly as RFC 4180 has them: CRLF ends each, the
// last too, and a quote or a line break stands inside quotes only.
type csvScan struct {
	state   csvState
	records int64
	fields  int // of the current record, its first not yet counted
	header  int
}

type csvState uint8

const (
	atField  csvState = iota // at the start of a field
	inPlain                  // in a field without quotes
	inQuotes                 // in a field with quotes
	atQuote                  // after a quote inside quotes: the end, or half of a pair
	atReturn                 // after the CR of a record's end
)

func (s *csvScan) add(p []byte) error {
	for i := 0; i < len(p); i++ {
		if s.state == inQuotes {
			quote := bytes.IndexByte(p[i:], '"')
			if quote < 0 {
				return nil
			}
			i += quote
			s.state = atQuote
			continue
		}
		if err := s.next(p[i]); err != nil {
			return fmt.Errorf("record %d: %w", s.records+1, err)
		}
	}
	return nil
}

// next reads a byte outside quotes.
func (s *csvScan) next(c byte) error {
	switch {
	case s.state == atReturn:
		if c != '\n' {
			return errors.New("a CR stands alone")
		}
		return s.record()
	case c == '"' && (s.state == atField || s.state == atQuote):
		s.state = inQuotes
	case c == ',':
		s.fields++
		s.state = atField
	case c == '\r':
		s.state = atReturn
	case c == '\n':
		return errors.New("an LF stands alone")
	case c == '"':
		return errors.New("a quote stands in a field without quotes")
	case s.state == atQuote:
		return errors.New("text follows a closing quote")
	default:
		s.state = inPlain
	}
	return nil
}

// record ends a record.
func (s *csvScan) record() error {
	fields := s.fields + 1
	if s.records == 0 {
		s.header = fields
	}
	if fields != s.header {
		return fmt.Errorf("%d fields stand under a header of %d", fields, s.header)
	}
	s.records++
	s.fields, s.state = 0, atField
	return nil
}

func (s *csvScan) end() (int64, error) {
	switch {
	case s.state != atField || s.fields > 0:
		return 0, fmt.Errorf("the file breaks off in record %d", s.records+1)
	case s.records == 0:
		return 0, errors.New("the header is missing")
	}
	return s.records - 1, nil
}
