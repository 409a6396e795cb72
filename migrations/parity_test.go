package migrations_test

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/glebarez/go-sqlite"
	_ "github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"rowmill/internal/testdb"
	"rowmill/migrations"
	"rowmill/repository"
	"rowmill/reservation"
)

func files(t *testing.T, folder fs.FS, pattern string) []string {
	t.Helper()
	names, err := fs.Glob(folder, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	for i, name := range names {
		names[i] = filepath.Base(name)
	}
	return names
}

func TestBothFoldersHaveTheSameSteps(t *testing.T) {
	if diff := cmp.Diff(files(t, migrations.MySQL, "mysql/*.sql"), files(t, migrations.SQLite, "sqlite/*.sql")); diff != "" {
		t.Errorf("(-mysql +sqlite):\n%s", diff)
	}
}

// MySQL commits at each DDL statement: a file of two could stop half-way.
func TestAMySQLFileIsOneStatement(t *testing.T) {
	for _, name := range files(t, migrations.MySQL, "mysql/*.sql") {
		text, err := fs.ReadFile(migrations.MySQL, "mysql/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), ";\n"); n != 1 {
			t.Errorf("%s has %d statements", name, n)
		}
	}
}

// column and index are what both engines must have in common.
type column struct {
	Table, Name string
	Nullable    bool
}

type index struct {
	Table, Name, Columns string
	Unique               bool
}

type schema struct {
	Columns []column
	Indexes []index
}

const (
	mysqlColumns = `SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' ORDER BY 1, ordinal_position`
	sqliteColumns = `SELECT m.name, c.name, NOT c."notnull" FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%' ORDER BY 1, c.cid`
	mysqlIndexes = `SELECT table_name, index_name, GROUP_CONCAT(column_name ORDER BY seq_in_index), non_unique = 0 FROM information_schema.statistics
		WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' GROUP BY table_name, index_name, non_unique`
	sqliteIndexes = `SELECT m.name, i.name, (SELECT GROUP_CONCAT(x.name) FROM (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno) x), i."unique"
		FROM sqlite_master m JOIN pragma_index_list(m.name) i
		WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND i.origin = 'c'
		UNION ALL SELECT m.name, 'PRIMARY', (SELECT GROUP_CONCAT(c.name) FROM pragma_table_info(m.name) c WHERE c.pk > 0), 1
		FROM sqlite_master m WHERE m.type = 'table' AND m.name NOT LIKE 'goose%' AND m.name NOT LIKE 'sqlite%'`
)

// read migrates a database and gives what its own catalog says of it.
func read(t *testing.T, c repository.Config, driver, dsn, columns, indexes string) (s schema) {
	t.Helper()
	store, err := repository.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	each(t, db, columns, func(rows *sql.Rows) error {
		var c column
		defer func() { s.Columns = append(s.Columns, c) }()
		return rows.Scan(&c.Table, &c.Name, &c.Nullable)
	})
	each(t, db, indexes, func(rows *sql.Rows) error {
		var i index
		defer func() { s.Indexes = append(s.Indexes, i) }()
		return rows.Scan(&i.Table, &i.Name, &i.Columns, &i.Unique)
	})
	// Each engine has an order of its own for names with an underscore.
	slices.SortStableFunc(s.Columns, func(a, b column) int { return strings.Compare(a.Table, b.Table) })
	slices.SortFunc(s.Indexes, func(a, b index) int { return strings.Compare(a.Table+"."+a.Name, b.Table+"."+b.Name) })
	return s
}

func each(t *testing.T, db *sql.DB, query string, scan func(*sql.Rows) error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestBothEnginesGetTheSameSchema(t *testing.T) {
	dsn, path := testdb.MySQL(t), filepath.Join(t.TempDir(), "db")
	mysql := read(t, repository.Config{DSN: dsn}, "mysql", dsn, mysqlColumns, mysqlIndexes)
	sqlite := read(t, repository.Config{Path: path}, "sqlite", path, sqliteColumns, sqliteIndexes)
	if diff := cmp.Diff(mysql, sqlite); diff != "" {
		t.Errorf("(-mysql +sqlite):\n%s", diff)
	}
	if len(mysql.Columns) < 80 || len(mysql.Indexes) < 50 {
		t.Errorf("%d columns and %d indexes were compared", len(mysql.Columns), len(mysql.Indexes))
	}
	for _, i := range mysql.Indexes {
		columns := strings.Split(i.Columns, ",")
		if last := columns[len(columns)-1]; !i.Unique && last != "id" && last != "reservation_id" {
			t.Errorf("index %s does not end in the primary key", i.Name)
		}
	}
	for _, f := range reservation.Fields() {
		if f.Part != reservation.Main {
			continue
		}
		at := slices.IndexFunc(mysql.Columns, func(c column) bool { return c.Table == "reservations" && c.Name == f.Column })
		if at < 0 {
			t.Fatalf("there is no column for field %s", f.Key)
		}
		leads := func(i index) bool {
			return i.Table == "reservations" && (i.Columns == f.Column || strings.HasPrefix(i.Columns, f.Column+",id"))
		}
		if f.Sort && (mysql.Columns[at].Nullable || !slices.ContainsFunc(mysql.Indexes, leads)) {
			t.Errorf("field %s cannot be sorted by: it is nullable, or no index gives its order", f.Key)
		}
	}
}
