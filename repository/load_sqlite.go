package repository

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// sqliteLoad takes the indexes off the tables and makes them anew behind the
// rows, each from one sort; in SQLite both belong to the transaction. Loads
// take turns by the file's write lock.
type sqliteLoad struct{ indexes []string } // the statements that make them

// fileRows: the driver takes time that grows with the square of a statement's
// placeholders, and a statement costs no round trip.
const fileRows = 8

// begin makes room for a large load, which does not fit SQLite's 2,000 KiB.
func (*sqliteLoad) begin(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "PRAGMA cache_size = -131072") // 128 MiB
	return err
}

func (l *sqliteLoad) before(ctx context.Context, tx *sql.Tx) (inserts, error) {
	names := make([]string, len(loadTables))
	for i, t := range loadTables {
		names[i] = "'" + t.name + "'"
	}
	// An index without SQL is a key's own and stays.
	rows, err := tx.QueryContext(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ("+strings.Join(names, ", ")+") ORDER BY rowid")
	if err != nil {
		return inserts{}, err
	}
	defer func() { _ = rows.Close() }()
	var drops []string
	for rows.Next() {
		var name, create string
		if err := rows.Scan(&name, &create); err != nil {
			return inserts{}, err
		}
		drops = append(drops, "DROP INDEX "+name)
		l.indexes = append(l.indexes, create)
	}
	if err := rows.Err(); err != nil {
		return inserts{}, err
	}
	return inserts{rows: fileRows}, execAll(ctx, tx, drops)
}

func (l *sqliteLoad) after(ctx context.Context, tx *sql.Tx) error {
	return execAll(ctx, tx, append(l.indexes, "ANALYZE"))
}

// end has the connection closed, and its pages with it.
func (*sqliteLoad) end(context.Context, *sql.Conn, bool) error {
	return errors.New("the connection has served")
}
