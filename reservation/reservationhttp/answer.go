package reservationhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/go-faster/jx"
	"github.com/labstack/echo/v4"

	"rowmill/internal/table"
	"rowmill/reservation"
)

// pieceSize is the bytes of an answer that are gathered before they are sent.
const pieceSize = 32 << 10

// answer is a JSON answer that is sent in pieces while it is made. Until the
// first piece is sent, an error still becomes a problem; after it, a cut.
type answer struct {
	*jx.Writer
	c       echo.Context
	control *http.ResponseController
	timeout time.Duration
}

// begin starts an answer; the caller must end it.
func (s *server) begin(c echo.Context) *answer {
	return &answer{Writer: jx.GetWriter(), c: c, control: http.NewResponseController(c.Response()), timeout: s.writeTimeout}
}

// piece sends what is gathered once it is enough.
func (a *answer) piece() error {
	if len(a.Buf) < pieceSize {
		return nil
	}
	return a.flush()
}

func (a *answer) flush() error {
	if head := a.c.Response().Header(); head.Get(echo.HeaderContentType) == "" {
		head.Set(echo.HeaderContentType, typeJSON)
	}
	if err := a.deadline(time.Now().Add(a.timeout)); err != nil {
		return err
	}
	_, err := a.c.Response().Write(a.Buf)
	a.Buf = a.Buf[:0]
	return err
}

func (a *answer) deadline(at time.Time) error {
	if err := a.control.SetWriteDeadline(at); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// finish sends the rest. The deadline is taken back: the next answer on the
// connection has its own.
func (a *answer) finish() error {
	if err := a.flush(); err != nil {
		return err
	}
	return a.deadline(time.Time{})
}

// free gives the buffer back; nothing may be written after it.
func (a *answer) free() { jx.PutWriter(a.Writer) }

// rows writes the members "fields" and "rows".
func (a *answer) rows(fields []reservation.Field, rows []table.Row) error {
	a.FieldStart("fields")
	appendList(a.Writer, fieldKeys(fields), a.Str)
	a.Comma()
	a.FieldStart("rows")
	a.ArrStart()
	for i, row := range rows {
		if i > 0 {
			a.Comma()
		}
		if err := appendRow(a.Writer, fields, row); err != nil {
			return err
		}
		if err := a.piece(); err != nil {
			return err
		}
	}
	a.ArrEnd()
	return nil
}
