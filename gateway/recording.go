package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"rowmill/export"
)

// recording is the answer to who reads a job's file. Before its first byte it
// records who does; if that fails it sends nothing.
type recording struct {
	http.ResponseWriter
	request *http.Request
	record  func(sent int64, part string) error
	refused error // why nothing may be sent
}

func (s *Server) recording(ctx context.Context, w http.ResponseWriter, r *http.Request, job export.Job) *recording {
	return &recording{ResponseWriter: w, request: r, record: func(sent int64, part string) error {
		if requestOf(ctx).linked {
			part = strings.TrimSuffix("by a signed link, "+part, ", ")
		}
		return s.record(ctx, downloadEvent(job, sent, part))
	}}
}

// Unwrap lets http.ResponseController find the connection.
func (w *recording) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader is where http.ServeContent has decided what it sends: the whole
// file, parts of it, or none.
func (w *recording) WriteHeader(status int) {
	if w.request.Method == http.MethodGet && (status == http.StatusOK || status == http.StatusPartialContent) {
		w.refused = w.recordAs(status)
	}
	if w.refused == nil {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	for _, name := range []string{"Content-Length", "Content-Range", "Content-Disposition", "ETag", "Repr-Digest", "Accept-Ranges"} {
		w.Header().Del(name)
	}
}

func (w *recording) recordAs(status int) error {
	sent, err := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
	if err != nil {
		return err
	}
	part := ""
	if status == http.StatusPartialContent {
		part = cmp.Or(w.Header().Get("Content-Range"), "several parts")
	}
	return w.record(sent, part)
}

var errRefused = errors.New("the download cannot be recorded: nothing is sent")

func (w *recording) Write(p []byte) (int, error) {
	if w.refused != nil {
		return 0, errRefused
	}
	return w.ResponseWriter.Write(p)
}
