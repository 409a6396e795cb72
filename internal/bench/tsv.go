package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"rowmill/internal/table"
	"rowmill/reservation/reservationhttp"
)

// block is a page of lines of a TSV file: 20 fields a line, NULL as \N, and
// \t, \n, \r and \\ within a field, as MySQL writes them.
type block struct {
	first int // number of the first line, from 1
	lines int
	text  []byte
}

// tsvBlocks reads the file's lines in pages; limit is the most lines, 0 for all.
func tsvBlocks(path string, limit int) iter.Seq2[block, error] {
	return func(yield func(block, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(block{}, fmt.Errorf("open the rows: %w", err))
			return
		}
		defer func() { _ = f.Close() }() // it was only read
		r := bufio.NewReaderSize(f, 1<<20)
		for first := 1; limit == 0 || first <= limit; {
			most := reservationhttp.DefaultPageSize
			if limit > 0 {
				most = min(most, limit-first+1)
			}
			b, err := readBlock(r, first, most)
			if err == nil && b.lines == 0 {
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
			first += b.lines
		}
	}
}

func readBlock(r *bufio.Reader, first, most int) (block, error) {
	b := block{first: first, text: make([]byte, 0, 512*most)}
	for b.lines < most {
		part, err := r.ReadSlice('\n')
		b.text = append(b.text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if n := len(b.text); n > 0 && b.text[n-1] != '\n' {
				b.lines++
			}
			return b, nil
		case err != nil:
			return block{}, fmt.Errorf("read the rows: %w", err)
		}
		b.lines++
	}
	return b, nil
}

// rows reads the block's lines; texts share its memory.
func (b block) rows(width int) ([]table.Row, error) {
	rows := make([]table.Row, 0, b.lines)
	slab := make([]table.Value, b.lines*width)
	for line := range strings.Lines(string(b.text)) {
		values := slab[len(rows)*width : (len(rows)+1)*width : (len(rows)+1)*width]
		number := b.first + len(rows)
		rest := strings.TrimSuffix(line, "\n")
		for i := range columns {
			field, after, more := strings.Cut(rest, "\t")
			if more == (i == len(columns)-1) {
				return nil, fmt.Errorf("line %d does not have %d fields", number, len(columns))
			}
			rest = after
			if i >= width {
				continue
			}
			var ok bool
			if values[i], ok = tsvValue(columns[i].Type, field); !ok {
				return nil, fmt.Errorf("line %d: field %d is no %s", number, i+1, columns[i].Type)
			}
		}
		rows = append(rows, table.Row{Key: int64(number), Values: values})
	}
	return rows, nil
}

func tsvValue(t table.Type, s string) (table.Value, bool) {
	if s == `\N` {
		return table.Null(), true
	}
	switch t {
	case table.Integer:
		v, ok := table.ParseDecimal(s)
		n, scale, small := v.Decimal()
		return table.IntegerOf(n), ok && small && scale == 0
	case table.Decimal:
		return table.ParseDecimal(s)
	case table.Date:
		return table.ParseDate(s)
	case table.Time:
		at, err := time.Parse(time.DateTime, s)
		return table.TimeOf(at), err == nil
	}
	if strings.IndexByte(s, '\\') >= 0 {
		s = tsvText.Replace(s)
	}
	return table.TextOf(s), true
}

var tsvText = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r")
