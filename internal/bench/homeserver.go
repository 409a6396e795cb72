package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// How long an answer may take before the caller is told that none comes.
const (
	homeLimit    = 3 * time.Second // under load: the product's limit
	homePatience = MaxStep         // while costs are measured, which are wanted of the slowest rung and machine too
)

// homeHandler answers with the boards of a rung, all rungs alike.
type homeHandler struct {
	boards boards
	day    time.Time
	limit  atomic.Int64          // nanoseconds that an answer may take
	fault  atomic.Pointer[error] // the last that was not a matter of time
}

// ServeHTTP implements http.Handler.
func (h *homeHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(h.limit.Load()))
	defer cancel()
	body, err := h.answer(ctx)
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a caller that has gone is counted as such by the caller
	case ctx.Err() != nil:
		http.Error(w, "The home board does not come in time.", http.StatusServiceUnavailable)
	default:
		h.fault.Store(&err)
		http.Error(w, "The home board does not come.", http.StatusInternalServerError)
	}
}

func (h *homeHandler) answer(ctx context.Context) ([]byte, error) {
	board, err := h.boards.Board(ctx, h.day)
	if err != nil {
		return nil, err
	}
	return answerOf(board)
}

// judgeBy gives what judges answers by the right one.
func judgeBy(want []byte) func(status int, body []byte) verdict {
	return func(status int, body []byte) verdict {
		switch {
		case status == http.StatusServiceUnavailable:
			return fallback
		case status != http.StatusOK:
			return failed
		case !bytes.Equal(body, want):
			return wrong
		}
		return right
	}
}

// asker asks for one answer after the other, over a connection that is kept, and waits
// as long as the handler does.
type asker struct {
	target target
	http   *http.Client
}

func newAsker(t target) *asker {
	return &asker{t, &http.Client{Transport: &http.Transport{DisableCompression: true}}}
}

func (a *asker) close() { a.http.CloseIdleConnections() }

// one asks once; an answer that is not right is an error.
func (a *asker) one(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.target.url, nil)
	if err != nil {
		return err
	}
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	if v := a.target.judge(res.StatusCode, body); v != right {
		return fmt.Errorf("the answer, of status %d and %d bytes, is not the right one", res.StatusCode, len(body))
	}
	return nil
}

// forSo asks for so long and gives how many answers came.
func (a *asker) forSo(ctx context.Context, lasting time.Duration) (answers int, err error) {
	for end := time.Now().Add(lasting); answers == 0 || time.Now().Before(end); answers++ {
		if err := a.one(ctx); err != nil {
			return answers, err
		}
	}
	return answers, nil
}
