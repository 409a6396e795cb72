package bench

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"

	"rowmill/access"
	"rowmill/reservation"
	"rowmill/reservation/reservationhttp"
)

// relay takes a call of the API apart: the product's server and its client
// without a network between them, and the network alone.
type relay struct {
	full, empty http.Handler // the product's server over a store that has the page, or nothing
	page        *pageStore
	wire        *api // sends the last answer again
	http        *http.Client
	client      *reservationhttp.Client
	call        capture
}

// pageStore has one page in memory.
type pageStore struct {
	reservation.Store
	batch reservation.Batch
}

func (s *pageStore) Batch(context.Context, access.Scope, []int64, []reservation.Field) (reservation.Batch, error) {
	return s.batch, nil
}

const relayToken = "bench"

func newRelay(ctx context.Context, b *bench) (r *relay, err error) {
	r = &relay{page: &pageStore{}}
	r.full = reservationhttp.NewServer(reservationhttp.Config{Store: r.page, Token: relayToken})
	r.empty = reservationhttp.NewServer(reservationhttp.Config{Store: &pageStore{}, Token: relayToken})
	replay := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, err := io.Copy(io.Discard, req.Body)
		if err == nil {
			maps.Copy(w.Header(), r.call.header)
			_, err = w.Write(r.call.answer.Bytes()) // at once, as the product's server sends a batch
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the reader sees a cut
		}
	})
	if r.wire, err = serveAPI(ctx, replay, b.cfg.APIDelay, b.wait); err != nil {
		return nil, err
	}
	r.http = &http.Client{Transport: &http.Transport{DisableCompression: true, ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}}
	r.client = reservationhttp.NewClient(reservationhttp.ClientConfig{BaseURL: "http://relay", Token: relayToken, HTTP: &http.Client{Transport: &r.call}})
	return r, nil
}

func (r *relay) close() error {
	r.http.CloseIdleConnections()
	return r.wire.close()
}

// capture is a round tripper without a network. Its first call is answered by
// the handler, and kept; the next calls have that answer again.
type capture struct {
	handler http.Handler
	kept    bool
	request *http.Request
	body    []byte
	header  http.Header
	answer  bytes.Buffer
}

// RoundTrip implements http.RoundTripper.
func (c *capture) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	if !c.kept {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		c.request, c.body, c.header = req, body, http.Header{}
		c.answer.Reset()
		if status := c.serve(req.Context(), c.handler, c.header, &c.answer); status != http.StatusOK {
			return nil, errors.New("the API answered with status " + strconv.Itoa(status))
		}
		c.kept = true
	}
	return &http.Response{StatusCode: http.StatusOK, Header: c.header, Body: io.NopCloser(bytes.NewReader(c.answer.Bytes())), Request: req}, nil
}

// serve has h answer the kept request.
func (c *capture) serve(ctx context.Context, h http.Handler, header http.Header, to io.Writer) (status int) {
	w := &plainWriter{header: header, to: to, status: http.StatusOK}
	req := c.request.Clone(ctx)
	req.Body = io.NopCloser(bytes.NewReader(c.body))
	req.ContentLength = int64(len(c.body))
	h.ServeHTTP(w, req)
	return w.status
}

// plainWriter is an http.ResponseWriter without a connection.
type plainWriter struct {
	header http.Header
	to     io.Writer
	status int
}

func (w *plainWriter) Header() http.Header         { return w.header }
func (w *plainWriter) WriteHeader(status int)      { w.status = status }
func (w *plainWriter) Write(p []byte) (int, error) { return w.to.Write(p) }

// transport takes a page through the API in its stages and gives what the
// client made of it. Reading the request and answering with nothing is the
// HTTP stage's, as is sending the bytes over the loopback device.
func (p *pass) transport(ctx context.Context, ids []int64, read reservation.Batch) (reservation.Batch, error) {
	r := p.server
	r.page.batch, r.call.handler, r.call.kept = read, r.full, false
	if _, _, err := r.client.Batch(ctx, inTheClear, ids, p.fields); err != nil { // keeps the request and the answer
		return reservation.Batch{}, err
	}
	nothing, err := measure(func() error { return r.answer(ctx, r.empty) })
	if err != nil {
		return reservation.Batch{}, err
	}
	all, err := measure(func() error { return r.answer(ctx, r.full) })
	if err != nil {
		return reservation.Batch{}, err
	}
	p.charge(stageWrite, all.minus(nothing))
	p.charge(stageHTTP, nothing)
	before := r.wire.traffic.bytes.Load()
	if err := p.in(stageHTTP, func() error { return r.send(ctx) }); err != nil {
		return reservation.Batch{}, err
	}
	p.wire += r.wire.traffic.bytes.Load() - before
	var batch reservation.Batch
	err = p.in(stageRead, func() (err error) {
		batch, _, err = r.client.Batch(ctx, inTheClear, ids, p.fields)
		return err
	})
	return batch, err
}

func (r *relay) answer(ctx context.Context, h http.Handler) error {
	if status := r.call.serve(ctx, h, http.Header{}, io.Discard); status != http.StatusOK {
		return errors.New("the API answered with status " + strconv.Itoa(status))
	}
	return nil
}

// send sends the kept request over the network and reads the kept answer.
func (r *relay) send(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.wire.url, bytes.NewReader(r.call.body))
	if err != nil {
		return err
	}
	req.Header = r.call.request.Header.Clone()
	res, err := r.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err == nil && n != int64(r.call.answer.Len()) {
		err = errors.New("the answer was cut")
	}
	return err
}
