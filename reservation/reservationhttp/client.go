package reservationhttp

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"rowmill/internal/fault"
	"rowmill/internal/httpedge"
	"rowmill/internal/telemetry"
)

// ClientConfig is what a client needs. Zero durations and counts stand for the
// defaults given with them.
type ClientConfig struct {
	BaseURL string       // of the API: "http://127.0.0.1:8081"
	Token   string       // the service token
	HTTP    *http.Client // nil: one of the client's own, which Close ends
	Logger  *slog.Logger // nil: retries are not logged
	Called  Called       // nil: calls are not counted

	Attempts int           // tries of a call in all; 0: 5
	Timeout  time.Duration // of one try of a batch or a list, its answer read; 0: 30 s
	Silence  time.Duration // the longest pause within a snapshot's stream; 0: 2 min

	FirstWait time.Duration // before the second try, ±50 %; 0: 200 ms. Each later wait doubles
	MaxWait   time.Duration // the longest of these waits; 0: 30 s

	// Patience is how long a call waits in all for a server that turns it away with
	// a Retry-After. Such tries do not count as Attempts. 0: 2 min; negative: the
	// first refusal is the answer.
	Patience time.Duration
}

// Client calls the API. It is safe for concurrent use. Its errors are faults:
// of the server's own kind if the server has refused the call, Overloaded or
// Unavailable if no try had a whole answer. When the caller's context ends, the
// context's error is in the chain.
type Client struct {
	config ClientConfig
	http   *http.Client
	own    bool // http is
	logger *slog.Logger
}

// NewClient returns a client.
func NewClient(config ClientConfig) *Client {
	config.BaseURL = strings.TrimRight(config.BaseURL, "/")
	config.Attempts = cmp.Or(config.Attempts, 5)
	config.Timeout = cmp.Or(config.Timeout, 30*time.Second)
	config.Silence = cmp.Or(config.Silence, 2*time.Minute)
	config.FirstWait = cmp.Or(config.FirstWait, 200*time.Millisecond)
	config.MaxWait = cmp.Or(config.MaxWait, 30*time.Second)
	config.Patience = cmp.Or(config.Patience, 2*time.Minute)
	return &Client{
		config: config,
		http:   cmp.Or(config.HTTP, newHTTP()),
		own:    config.HTTP == nil,
		logger: cmp.Or(config.Logger, slog.New(slog.DiscardHandler)),
	}
}

// Impatient returns a client for those who wait before a screen: a server that turns
// a call away has answered it, with Overloaded and when to come back. It shares the
// connections of c, which closes them.
func (c *Client) Impatient() *Client {
	config := c.config
	config.HTTP, config.Patience = c.http, -1
	return NewClient(config)
}

// newHTTP returns an HTTP client for many calls at once to one host.
func newHTTP() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns = 128
	transport.MaxIdleConnsPerHost = 128 // the default of 2 makes each busy worker dial anew
	transport.DisableCompression = true // the link is local: deflating costs more than it saves
	transport.ReadBufferSize = 64 << 10
	transport.WriteBufferSize = 64 << 10
	return &http.Client{
		Transport: transport,
		// The token goes to the API and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes the idle connections of the client's own HTTP client.
func (c *Client) Close() {
	if c.own {
		c.http.CloseIdleConnections()
	}
}

// reader reads a whole answer; an error means that it is not one.
type reader func(body io.Reader, header http.Header) error

// try makes one call.
func (c *Client) try(ctx context.Context, path string, body []byte, read reader) (err error) {
	ctx, end := c.observe(ctx, path)
	defer func() { end(err) }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return fault.Wrap(err, fault.Internal, "The address of the reservation API is not valid.")
	}
	req.Header.Set("Authorization", "Bearer "+c.config.Token)
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("Accept", typeRows+", "+typeJSON+", "+httpedge.ProblemMedia)
	if parent := telemetry.TraceParent(ctx); parent != "" {
		req.Header.Set("Traceparent", parent)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return refusalOf(res)
	}
	if err := read(res.Body, res.Header); err != nil {
		return fmt.Errorf("answer not whole: %w", err)
	}
	return nil
}

// call makes a call whose answer must be read within the timeout.
func (c *Client) call(ctx context.Context, what, path string, body []byte, read reader) error {
	return c.retry(ctx, what, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
		defer cancel()
		return c.try(ctx, path, body, read)
	})
}

// stream makes a call whose answer may take as long as it flows.
func (c *Client) stream(ctx context.Context, what, path string, body []byte, read reader) error {
	return c.retry(ctx, what, func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		silence := time.AfterFunc(c.config.Silence, func() { cancel(context.DeadlineExceeded) })
		defer silence.Stop()
		return c.try(ctx, path, body, func(body io.Reader, header http.Header) error {
			return read(&watched{body, silence, c.config.Silence}, header)
		})
	})
}

// watched puts the end of patience off with each read.
type watched struct {
	io.Reader
	silence *time.Timer
	limit   time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.silence.Reset(w.limit)
	return n, err
}
