package reservationhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/go-faster/jx"

	"rowmill/access"
	"rowmill/reservation"
)

// maxAnswer is the most bytes of one answer with rows: 5,000 rows of 50 kB.
const maxAnswer = 256 << 20

// errShort is an answer that does not cover what was asked.
var errShort = errors.New("the answer does not cover the asked ids")

// Batch reads the fields of up to reservation.MaxBatch distinct ids, as the scope
// shows them. The answer covers each id once, in the order asked. It also gives the
// statements it cost.
func (c *Client) Batch(ctx context.Context, scope access.Scope, ids []int64, fields []reservation.Field) (reservation.Batch, int64, error) {
	var batch reservation.Batch
	var statements int64
	body := batchRequest{scopeRequest: scopeRequest{scope}, ids: ids, fields: fieldKeys(fields)}.encode()
	err := c.call(ctx, "a page of rows", pathBatch, body, func(r io.Reader, header http.Header) (err error) {
		statements = parseStatements(header.Get(headerTiming))
		if header.Get("Content-Type") == typeRows {
			batch, err = readCompact(io.LimitReader(r, maxAnswer), fields, len(ids))
		} else { // a server that does not know the compact form
			batch, err = readBatch(r, fields, len(ids))
		}
		return errors.Join(err, covers(ids, batch))
	})
	if err != nil {
		return reservation.Batch{}, 0, err
	}
	return batch, statements, nil
}

// readBatch reads a batch of at most limit ids as JSON.
func readBatch(r io.Reader, fields []reservation.Field, limit int) (batch reservation.Batch, err error) {
	p := newPage(fields, limit)
	err = p.readAnswer(r, "absent", func(d *jx.Decoder) (err error) {
		batch.Absent, err = readIDs(d, limit)
		return err
	})
	batch.Rows = p.rows
	return batch, err
}

// covers checks that each id is a row or absent, once, the rows in the ids' order.
func covers(ids []int64, batch reservation.Batch) error {
	if len(batch.Rows)+len(batch.Absent) != len(ids) {
		return fmt.Errorf("%w: %d rows and %d absent for %d", errShort, len(batch.Rows), len(batch.Absent), len(ids))
	}
	gone := make(map[int64]bool, len(batch.Absent))
	for _, id := range batch.Absent {
		gone[id] = true
	}
	row := 0
	for _, id := range ids {
		switch {
		case row < len(batch.Rows) && batch.Rows[row].Key == id:
			row++
		case gone[id]:
			delete(gone, id)
		default:
			return fmt.Errorf("%w: id %d is not where it should be", errShort, id)
		}
	}
	return nil
}

// List reads a page of the list; withTotal also counts the matching rows.
func (c *Client) List(ctx context.Context, q reservation.Query, w reservation.Window, fields []reservation.Field, withTotal bool) (reservation.List, error) {
	var list reservation.List
	body := listRequest{queryOf(q), w.Offset, w.After, w.Limit, fieldKeys(fields), withTotal}.encode()
	err := c.call(ctx, "a page of the list", pathList, body, func(r io.Reader, _ http.Header) error {
		p := newPage(fields, max(0, w.Limit))
		total := int64(-1)
		err := p.readAnswer(r, "total", func(d *jx.Decoder) (err error) {
			if d.Next() == jx.Null {
				return d.Null()
			}
			total, err = d.Int64()
			return err
		})
		if err == nil && withTotal && total < int64(len(p.rows)) {
			err = fmt.Errorf("a total of %d with %d rows", total, len(p.rows))
		}
		list = reservation.List{Rows: p.rows, Total: total}
		return err
	})
	if err != nil {
		return reservation.List{}, err
	}
	return list, nil
}

// Count gives how many rows match.
func (c *Client) Count(ctx context.Context, q reservation.Query) (int64, error) {
	id, _ := reservation.FieldOf("id")
	list, err := c.List(ctx, reservation.Query{Filter: q.Filter, Sort: reservation.DefaultSort, Scope: q.Scope}, reservation.Window{Limit: 1}, []reservation.Field{id}, true)
	return list.Total, err
}

// readAnswer reads an object with "fields", "rows" and one more member, all of
// which must be there, once. Others are left for later versions.
func (p *page) readAnswer(r io.Reader, other string, read func(d *jx.Decoder) error) error {
	seen := map[string]bool{}
	err := decode(io.LimitReader(r, maxAnswer), func(d *jx.Decoder) error {
		return d.Obj(func(d *jx.Decoder, name string) error {
			if seen[name] {
				return fmt.Errorf("member %q comes twice", shown(name))
			}
			switch name {
			case "fields":
				seen[name] = true
				keys, err := readTexts(d)
				if err == nil && !slices.Equal(keys, fieldKeys(p.fields)) {
					err = errors.New("the fields are not those asked")
				}
				return err
			case "rows":
				seen[name] = true
				return p.readRows(d)
			case other:
				seen[name] = true
				return read(d)
			}
			return d.Skip()
		})
	})
	if err == nil && len(seen) != 3 {
		err = errors.New("a member is missing")
	}
	return err
}

// snapshotEnd is what follows the ids of a snapshot.
type snapshotEnd struct {
	at         time.Time
	statements int64
	total      int64
}

// readSnapshot reads a stream of ids, giving each to add. It fails unless the
// stream is whole: its total is there and is the count of its ids.
func readSnapshot(r io.Reader, add func(id int64)) (end snapshotEnd, err error) {
	end.total = -1
	ids := int64(0)
	err = decode(r, func(d *jx.Decoder) error {
		return d.ObjBytes(func(d *jx.Decoder, key []byte) (err error) {
			switch string(key) {
			case "ids":
				return d.Arr(func(d *jx.Decoder) error {
					id, err := d.Int64()
					if err == nil {
						add(id)
						ids++
					}
					return err
				})
			case "at":
				var text string
				if text, err = d.Str(); err == nil {
					end.at, err = time.Parse(time.RFC3339, text)
				}
			case "statements":
				end.statements, err = d.Int64()
			case "total":
				end.total, err = d.Int64()
			default:
				err = d.Skip()
			}
			return err
		})
	})
	if err == nil && (end.total != ids || end.at.IsZero()) {
		err = fmt.Errorf("the snapshot is not whole: %d ids for a total of %d", ids, end.total)
	}
	return end, err
}
