package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

var mariadb = &server{start: startMariaDB}

// MySQL gives the DSN of a fresh, empty database, dropped at the test's end.
func MySQL(t testing.TB) string {
	t.Helper()
	root := os.Getenv("ROWMILL_TEST_MYSQL_DSN")
	if root == "" {
		root = mariadb.use(t)
	}
	c, err := mysql.ParseDSN(root)
	if err != nil {
		t.Fatalf("ROWMILL_TEST_MYSQL_DSN is no DSN: %v", err)
	}
	// Unlike a counter, random text does not meet that of another test process.
	c.DBName = "rowmill_test_" + strings.ToLower(rand.Text())
	if err := execute(t.Context(), root, "CREATE DATABASE "+c.DBName+" CHARACTER SET utf8mb4"); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		// The test's context has ended by now.
		if err := execute(context.Background(), root, "DROP DATABASE "+c.DBName); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return c.FormatDSN()
}

func execute(ctx context.Context, dsn, statement string) (err error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

func startMariaDB() (dsn string, stop func() error, err error) {
	for _, name := range []string{"mariadbd", "mariadb-install-db"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", nil, fmt.Errorf("%w: install mariadb-server-core and mariadb-client-core (Debian), or set ROWMILL_TEST_MYSQL_DSN", err)
		}
	}
	dir, err := os.MkdirTemp("", "rowmill-mysql-")
	if err != nil {
		return "", nil, err
	}
	me, err := user.Current()
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "s")
	install := exec.Command("mariadb-install-db", "--no-defaults", "--datadir="+data, "--user="+me.Username,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	install.Env = append(os.Environ(), "TMPDIR="+dir) // a MariaDB that starts removes the others' temporary tables from a shared one
	if out, err := install.CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("mariadb-install-db: %w: %s", err, out), os.RemoveAll(dir))
	}
	// A socket in the directory cannot meet another process's port. Losing data
	// is no harm here, so nothing waits for the disk.
	server := exec.Command("mariadbd", "--no-defaults", "--user="+me.Username, "--datadir="+data, "--socket="+socket,
		"--pid-file="+filepath.Join(dir, "pid"), "--tmpdir="+dir, "--skip-networking", "--character-set-server=utf8mb4", "--max-connections=300",
		"--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-log-file-size=64M", "--innodb-buffer-pool-size=128M")
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.Logger = "root", "unix", socket, &mysql.NopLogger{}
	dsn = c.FormatDSN()
	stop, err = launch(server, dir, func() error { return answersMySQL(c) })
	return dsn, stop, err
}

// answersMySQL pings without the noise that a refused connection logs.
func answersMySQL(c *mysql.Config) (err error) {
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.Ping()
}
