package repository

import (
	"context"
	"database/sql"

	"rowmill/internal/fault"
)

// mysqlLoad takes the rows into temporary tables without indexes and moves them
// from there with one statement a table. MariaDB fills an empty table from one
// statement by sorting each index, and with no undo record but "it was empty";
// after the first statement that is over, and each row goes into each index by
// itself. A temporary table can be made without ending the transaction.
type mysqlLoad struct{}

const (
	// turnSeconds is how long a load waits for another one, or for the server to undo one that was killed.
	turnSeconds = 10
	stagePrefix = "loading_"
	// stageRows × the 15 columns of the widest table stays under 65,535 placeholders.
	stageRows = 1000
)

// begin takes the migrations' lock, and sets what MariaDB wants for filling a
// table at once. Keys stay unique all the same.
func (mysqlLoad) begin(ctx context.Context, conn *sql.Conn) error {
	got, err := takeLock(ctx, conn, turnSeconds)
	if err != nil {
		return err
	}
	if !got {
		return fault.New(fault.Conflict, "Another import or migration of this database is running. Nothing was changed.")
	}
	_, err = conn.ExecContext(ctx, "SET SESSION unique_checks = 0, foreign_key_checks = 0")
	return err
}

func (mysqlLoad) before(ctx context.Context, tx *sql.Tx) (inserts, error) {
	for _, name := range loadedTables {
		// LIKE would bring the indexes along.
		create := "CREATE TEMPORARY TABLE " + stagePrefix + name + " ENGINE=InnoDB SELECT * FROM " + name + " LIMIT 0"
		if _, err := tx.ExecContext(ctx, create); err != nil {
			return inserts{}, err
		}
	}
	return inserts{prefix: stagePrefix, rows: stageRows}, nil
}

// after moves the rows. A temporary table without a key gives them in the order
// they came in, which is that of the primary keys.
func (mysqlLoad) after(ctx context.Context, tx *sql.Tx) error {
	for _, name := range loadedTables {
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+name+" SELECT * FROM "+stagePrefix+name); err != nil {
			return err
		}
	}
	return nil
}

// end lets the optimiser know what the tables hold now, and puts the session back.
func (mysqlLoad) end(ctx context.Context, conn *sql.Conn) error {
	for _, name := range loadedTables {
		for _, statement := range []string{"ANALYZE TABLE " + name, "DROP TEMPORARY TABLE IF EXISTS " + stagePrefix + name} {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	if _, err := conn.ExecContext(ctx, "SET SESSION unique_checks = 1, foreign_key_checks = 1"); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+lockName+")")
	return err
}
