package gateway

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"

	"rowmill/export"
	"rowmill/internal/fault"
)

type fileInput struct {
	ID      string `path:"id" maxLength:"64" doc:"The job's id"`
	Range   string `header:"Range" doc:"A part of the file (RFC 9110)"`
	IfRange string `header:"If-Range" doc:"The ETag that the part must be of"`
}

func (s *Server) exportFile(ctx context.Context, in *fileInput) (*huma.StreamResponse, error) {
	job, err := s.job(ctx, in.ID)
	if err == nil {
		err = s.mayHave(ctx, job)
	}
	if err != nil {
		return nil, err
	}
	return s.sendFile(ctx, job)
}

// sendFile answers with the job's file.
func (s *Server) sendFile(ctx context.Context, job export.Job) (*huma.StreamResponse, error) {
	if err := downloadable(standing(job, s.cfg.Now()), job); err != nil {
		return nil, err
	}
	file, err := s.open(ctx, job)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humaecho.Unwrap(hc)
		w := s.recording(ctx, c.Response(), c.Request(), job)
		err := serveFile(w, job, file)
		if w.refused != nil {
			s.writeError(w.refused, c) //nolint:contextcheck // it takes the request's, which c has
		} else if err != nil && ctx.Err() == nil {
			s.log(ctx).ErrorContext(ctx, "download broken off", "job_id", job.ID, "error", err)
		}
	}}, nil
}

// downloadable says why a job has no file.
func downloadable(status export.Status, job export.Job) error {
	switch {
	case status == export.Expired:
		return fault.New(fault.Gone, "The file was kept until %s. Export again.", job.ExpiresAt.UTC().Format(time.RFC3339))
	case status == export.Succeeded && job.File != nil:
		return nil
	case status == export.Succeeded:
		return fmt.Errorf("job %s has succeeded without a file", job.ID)
	case status.Final():
		return fault.New(fault.Conflict, "The export is %s: it has no file.", status)
	}
	return fault.New(fault.Conflict, "The export is %s: its file is not ready.", status)
}

// open opens the job's file. One of another size is not the file that was verified.
func (s *Server) open(ctx context.Context, job export.Job) (export.Reader, error) {
	file, err := s.cfg.Files.Open(ctx, job.File.Key)
	if err != nil {
		if fault.KindOf(err) == fault.NotFound {
			s.log(ctx).ErrorContext(ctx, "published file is missing", "job_id", job.ID, "key", job.File.Key, "error", err)
			return nil, fault.Wrap(err, fault.Gone, "The file is no longer there. Export again.")
		}
		return nil, fmt.Errorf("open file of job %s: %w", job.ID, err)
	}
	if file.Size() != job.File.Size {
		err := fmt.Errorf("file of job %s has %d bytes, published were %d", job.ID, file.Size(), job.File.Size)
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// serveFile answers with the file or the parts asked for, and closes it.
func serveFile(w *recording, job export.Job, file export.Reader) (err error) {
	defer func() { err = errors.Join(err, file.Close()) }()
	sum, err := hex.DecodeString(job.File.SHA256)
	if err != nil {
		return fmt.Errorf("hash of the file: %w", err)
	}
	// A big file on a slow line takes its time.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", job.Request.Format.ContentType())
	h.Set("Content-Disposition", disposition(named(job).FileName, job.Request.Dataset))
	h.Set("ETag", `"`+job.File.SHA256+`"`)
	h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":") // RFC 9530
	// Personal data: no cache may keep it. Nor may a proxy recompress it, which would break ranges.
	h.Set("Cache-Control", "private, no-store, no-transform")
	content := &readAhead{file: io.NewSectionReader(file, 0, file.Size())}
	http.ServeContent(w, w.request, "", time.Time{}, content)
	return content.err
}

// readAheadSize is how much is asked of the store at once: an object store takes
// a request for each read, and net/http reads by 32 KiB.
const readAheadSize = 512 << 10

// readAhead reads a file in large steps and keeps the error, which
// http.ServeContent tells nobody but the client, by hanging up.
type readAhead struct {
	file *io.SectionReader
	buf  []byte
	rest []byte // of buf, not yet given
	err  error
}

func (a *readAhead) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekCurrent {
		offset -= int64(len(a.rest))
	}
	a.rest = nil
	return a.file.Seek(offset, whence)
}

func (a *readAhead) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		if a.buf == nil {
			a.buf = make([]byte, min(readAheadSize, a.file.Size()))
		}
		n, err := io.ReadFull(a.file, a.buf)
		a.rest = a.buf[:n]
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			a.err = err
		}
		if n == 0 {
			return 0, err
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

func (s *Server) fileRoutes() {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		responses := fileResponses(method)
		register(s, huma.Operation{
			OperationID: map[string]string{http.MethodGet: "download-export", http.MethodHead: "head-export-file"}[method],
			Method:      method, Path: exportsPath + "/{id}/file", Tags: []string{"Exports"},
			Summary: "The file", Responses: responses, RejectUnknownQueryParameters: true,
			Description: "Only a job that has succeeded has a file. Parts may be asked for, and a broken download goes on where it stopped.",
		}, s.exportFile, 400, 401, 403, 404, 409, 410, 500, 503)
	}
}

func fileResponses(method string) map[string]*huma.Response {
	headers := map[string]*huma.Param{
		"ETag":                header("Strong: the file's SHA-256"),
		"Repr-Digest":         header("The file's SHA-256 (RFC 9530)"),
		"Content-Disposition": header("The file's name, also as filename*=UTF-8''… (RFC 6266)"),
		"Accept-Ranges":       header("bytes"),
	}
	whole := &huma.Response{Description: "The whole file", Headers: headers}
	part := &huma.Response{Description: "A part of the file", Headers: headers}
	if method == http.MethodGet {
		content := map[string]*huma.MediaType{}
		for _, t := range []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "text/csv"} {
			content[t] = &huma.MediaType{Schema: text("binary")}
		}
		whole.Content, part.Content = content, content
	}
	return map[string]*huma.Response{
		"200": whole, "206": part,
		"304": {Description: "The client has it (If-None-Match)"},
		"412": {Description: "The file is another (If-Match)"},
		"416": {Description: "The file has no such part"},
	}
}
