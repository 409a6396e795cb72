package testdb

import (
	"database/sql"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(Around(m)) }

func TestMySQLGivesEachTestAnEmptyDatabaseThatIsDropped(t *testing.T) {
	keep := MySQL(t)
	var mu sync.Mutex
	var dsns []string
	t.Run("parallel", func(t *testing.T) {
		for i := range 4 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				dsn := MySQL(t)
				if err := execute(t.Context(), dsn, "CREATE TABLE t (id INT)"); err != nil {
					t.Errorf("the database is not empty: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				dsns = append(dsns, dsn)
			})
		}
	})
	if err := execute(t.Context(), keep, "SELECT 1"); err != nil {
		t.Errorf("the server is gone while a test uses it: %v", err)
	}
	for _, dsn := range dsns {
		if err := execute(t.Context(), dsn, "SELECT 1"); err == nil {
			t.Errorf("a database outlived its test")
		}
	}
}

func TestServerStopsWithItsLastUserAndLeavesNoFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := &server{start: startMariaDB}
	var dsn string
	t.Run("use", func(t *testing.T) {
		dsn = s.use(t)
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	if s.stop != nil {
		t.Error("the server runs on")
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRedisIsEmptyAndOnesOwn(t *testing.T) {
	t.Run("servers", func(t *testing.T) {
		t.Setenv("ROWMILL_TEST_REDIS_URL", "")
		differ(t, Redis(t), Redis(t))
	})
	t.Run("numbers of one server", func(t *testing.T) {
		shared, stop, err := startRedis()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
		t.Setenv("ROWMILL_TEST_REDIS_URL", shared)
		for range numbers { // a number is given back
			t.Run("twice", func(t *testing.T) { differ(t, Redis(t), Redis(t)) })
		}
	})
}

// differ fails unless both are empty and the second does not see the first's key.
func differ(t *testing.T, urls ...string) {
	t.Helper()
	for _, url := range urls {
		options, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(options)
		defer client.Close()
		if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Errorf("%s has %d keys (%v), want none", url, n, err)
		}
		if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
			t.Error(err)
		}
	}
}
