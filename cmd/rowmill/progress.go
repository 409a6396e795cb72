package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows how far a long task is: a bar on a terminal, plain lines in a pipe.
type progress struct {
	w     io.Writer
	label string
	total int64
	bar   *progressbar.ProgressBar // nil in a pipe
	next  time.Time
	last  string
}

// plainEvery is the pace of lines in a pipe.
const plainEvery = time.Second

// newProgress begins at 0; a total of -1 is not known.
func newProgress(w io.Writer, label string, total int64) *progress {
	p := &progress{w: w, label: label, total: total}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(label),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetPredictTime(total > 0), progressbar.OptionClearOnFinish())
	}
	return p
}

func (p *progress) set(done int64) {
	if p.bar != nil {
		_ = p.bar.Set64(done) // a terminal that cannot be written to is no reason to stop
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(plainEvery)
		p.line(done)
	}
}

// expect corrects the total.
func (p *progress) expect(total int64) {
	if p.total = total; p.bar != nil {
		p.bar.ChangeMax64(total)
	}
}

// finish shows the end.
func (p *progress) finish(done int64) {
	if p.bar != nil {
		_ = p.bar.Finish() // as in set
	}
	p.line(done)
}

// abandon leaves the terminal's line to an error message.
func (p *progress) abandon() {
	if p.bar != nil {
		_ = p.bar.Clear() // as in set
	}
}

func (p *progress) line(done int64) {
	line := fmt.Sprintf("%s: %d rows", p.label, done)
	if p.total > 0 {
		line = fmt.Sprintf("%s: %d of %d rows (%d %%)", p.label, done, p.total, done*100/p.total)
	}
	if line != p.last {
		_, _ = fmt.Fprintln(p.w, line) // as in set
	}
	p.last = line
}
