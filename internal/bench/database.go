package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"rowmill/ingest"
	"rowmill/internal/fault"
	"rowmill/repository"
)

// seed of the rows: row n is the same in every bench, whatever its size.
const seed = 1

// database is the product's database and, beside it, connections of the same
// settings for the stores that the product does not have.
type database struct {
	repo *repository.DB
	raw  *sql.DB
	line *line
	mine bool // an SQLite file of the bench's own
}

// openDatabase opens the database of the DSN, or the SQLite file at path.
func openDatabase(ctx context.Context, dsn, path string, conns int, l *line) (*database, error) {
	d := &database{line: l, mine: dsn == ""}
	var connector driver.Connector
	var err error
	d.repo, err = repository.Open(ctx, repository.Config{DSN: dsn, Path: path, MaxOpenConns: conns, Wrap: func(c driver.Connector) driver.Connector {
		connector = l.over(c)
		return connector
	}})
	if err != nil {
		return nil, err
	}
	d.raw = sql.OpenDB(connector)
	d.raw.SetMaxOpenConns(conns)
	d.raw.SetMaxIdleConns(conns)
	return d, nil
}

func (d *database) close() error { return errors.Join(d.raw.Close(), d.repo.Close()) }

// markTable says that a database is the bench's, and how many rows it holds:
// 0 until its load has ended.
const markTable = "rowmill_bench"

// prepare makes the schema and the rows, in an empty database or in one that a
// former bench has left. It gives how many rows the database holds.
func (d *database) prepare(ctx context.Context, rows int64) (held int64, err error) {
	tables, err := d.tables(ctx)
	if err != nil {
		return 0, err
	}
	switch {
	case len(tables) == 0:
		for _, statement := range []string{"CREATE TABLE " + markTable + " (row_count BIGINT NOT NULL)", "INSERT INTO " + markTable + " (row_count) VALUES (0)"} {
			if _, err := d.raw.ExecContext(ctx, statement); err != nil {
				return 0, fmt.Errorf("mark the database as the bench's: %w", err)
			}
		}
	case !tables[markTable]:
		return 0, fault.New(fault.Conflict, "The database is not empty and no bench has filled it. Name an empty database; nothing was changed.")
	default:
		if err := d.raw.QueryRowContext(ctx, "SELECT row_count FROM "+markTable).Scan(&held); err != nil {
			return 0, fmt.Errorf("read what a former bench has left: %w", err)
		}
		if held > 0 && held < rows {
			return 0, fault.New(fault.Conflict, "The database holds %d rows of a former bench, fewer than %d. Name an empty database; nothing was changed.", held, rows)
		}
	}
	if held > 0 {
		return held, nil
	}
	return rows, d.load(ctx, rows)
}

func (d *database) load(ctx context.Context, rows int64) error {
	if err := d.repo.Migrate(ctx); err != nil {
		return err
	}
	if _, err := ingest.Run(ctx, repository.NewLoader(d.repo), ingest.Synthetic(int(rows), seed), nil); err != nil {
		return err
	}
	if _, err := d.raw.ExecContext(ctx, "UPDATE "+markTable+" SET row_count = ?", rows); err != nil {
		return fmt.Errorf("note the end of the load: %w", err)
	}
	return nil
}

// tables gives the names of the database's tables.
func (d *database) tables(ctx context.Context) (map[string]bool, error) {
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	if d.mine {
		query = "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	rows, err := d.raw.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list the tables: %w", err)
		}
		names[name] = true
	}
	return names, rows.Err()
}
