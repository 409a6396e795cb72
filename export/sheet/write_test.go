package sheet_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"rowmill/export/sheet"
	"rowmill/internal/table"
)

// writeParallel writes rows page by page; the pages are encoded by workers.
func writeParallel(e sheet.Encoder, rows []table.Row, page, workers int) error {
	type result struct {
		chunk sheet.Chunk
		err   error
	}
	type work struct {
		span sheet.Span
		done chan result
	}
	todo, order := make(chan work), make(chan work, 2*workers)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for w := range todo {
				c, err := e.Encode(w.span)
				w.done <- result{c, err}
			}
		})
	}
	group.Go(func() {
		defer close(order)
		defer close(todo)
		for len(rows) > 0 {
			n := min(page, len(rows))
			for _, s := range e.Place(rows[:n]) {
				w := work{s, make(chan result, 1)}
				order <- w
				todo <- w
			}
			rows = rows[n:]
		}
	})
	var first error
	info := sheet.Info{At: madeAt}
	for w := range order {
		r := <-w.done
		if first == nil {
			first = r.err
		}
		if first == nil {
			first = e.Append(r.chunk)
			info.Losses.Merge(r.chunk.Losses)
		}
	}
	group.Wait()
	if first != nil {
		return first
	}
	return e.Close(info)
}

// madeAt is the same for all files, so that equal rows give equal bytes.
var madeAt = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// write makes a file of the rows, in pages.
func write(t *testing.T, spec sheet.Spec, rows []table.Row, page int) (file []byte, losses sheet.Losses) {
	t.Helper()
	var out bytes.Buffer
	e, err := sheet.New(&out, spec)
	if err != nil {
		t.Fatal(err)
	}
	for len(rows) > 0 {
		n := min(page, len(rows))
		for _, s := range e.Place(rows[:n]) {
			c, err := e.Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Append(c); err != nil {
				t.Fatal(err)
			}
			losses.Merge(c.Losses)
		}
		rows = rows[n:]
	}
	if err := e.Close(sheet.Info{At: madeAt, Losses: losses}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), losses
}
