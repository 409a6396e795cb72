package testdb

import (
	"database/sql"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestAnOwnMySQLKeepsWhatItAnsweredWhenItIsKilled(t *testing.T) {
	d := OwnMySQL(t)
	db, err := sql.Open("mysql", "root@tcp("+d.Addr+")/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // its queries have been answered
	for _, statement := range []string{"CREATE DATABASE d", "CREATE TABLE d.t (id INT)", "INSERT INTO d.t VALUES (7)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	restart(t, d)
	var id int
	if err := db.QueryRowContext(t.Context(), "SELECT id FROM d.t").Scan(&id); err != nil || id != 7 {
		t.Errorf("after a kill the row is %d, %v", id, err)
	}
}

func TestAnOwnRedisIsEmptyAfterAKill(t *testing.T) {
	d := OwnRedis(t)
	client := redis.NewClient(&redis.Options{Addr: d.Addr})
	defer func() { _ = client.Close() }() // its commands have been answered
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	restart(t, d)
	if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("after a kill it has %d keys, %v", n, err)
	}
	if err := d.Signal(syscall.SIGSTOP); err != nil { // its end must come all the same
		t.Error(err)
	}
}

func restart(t *testing.T, d *Daemon) {
	t.Helper()
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}
