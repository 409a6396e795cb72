package repository

import (
	"context"
	"database/sql"
	"strings"

	"rowmill/internal/fault"
)

// mysqlLoad takes the rows into temporary tables without indexes and moves them
// from there with one statement a table. MariaDB fills an empty table from one
// statement by sorting each index, and with no undo record but "it was empty";
// after that statement each row goes into each index by itself.
type mysqlLoad struct{}

const (
	// turnSeconds is how long a load waits for another one, or for the server to undo one that was killed.
	turnSeconds = 10
	stagePrefix = "loading_"
	// stageRows × the 15 columns of the widest table stays under 65,535 placeholders.
	stageRows = 1000
)

// begin takes the migrations' lock, sets what MariaDB wants for filling a table
// at once (keys stay unique all the same), and makes the temporary tables.
func (mysqlLoad) begin(ctx context.Context, conn *sql.Conn) error {
	got, err := takeLock(ctx, conn, turnSeconds)
	if err != nil {
		return err
	}
	if !got {
		return fault.New(fault.Conflict, "Another import or migration of this database is running. Nothing was changed.")
	}
	statements := []string{"SET SESSION unique_checks = 0, foreign_key_checks = 0"}
	for _, t := range loadTables {
		key, _, _ := strings.Cut(t.columns, ",")
		statements = append(statements, "CREATE TEMPORARY TABLE "+stagePrefix+t.name+" (PRIMARY KEY ("+key+")) ENGINE=InnoDB SELECT "+t.columns+" FROM "+t.name+" LIMIT 0")
	}
	return execAll(ctx, conn, statements)
}

func (mysqlLoad) before(context.Context, *sql.Tx) (inserts, error) {
	return inserts{prefix: stagePrefix, rows: stageRows}, nil
}

func (mysqlLoad) after(ctx context.Context, tx *sql.Tx) error {
	var statements []string
	for _, t := range loadTables {
		statements = append(statements, "INSERT INTO "+t.name+" ("+t.columns+") SELECT "+t.columns+" FROM "+stagePrefix+t.name)
	}
	return execAll(ctx, tx, statements)
}

func (mysqlLoad) end(ctx context.Context, conn *sql.Conn, loaded bool) error {
	var statements []string
	for _, t := range loadTables {
		if loaded { // so that the optimizer knows what the tables hold now
			statements = append(statements, "ANALYZE TABLE "+t.name)
		}
		statements = append(statements, "DROP TEMPORARY TABLE IF EXISTS "+stagePrefix+t.name)
	}
	return execAll(ctx, conn, append(statements,
		"SET SESSION unique_checks = 1, foreign_key_checks = 1",
		"DO RELEASE_LOCK("+lockName+")",
	))
}
