package main

import (
	"path/filepath"
	"testing"

	"rowmill/internal/config"
	"rowmill/internal/telemetry"
)

// Whatever names the queue's Redis names the board's as well; none of them is asked
// before there is a question.
func TestTheBoardTakesEachFormOfTheRedisURL(t *testing.T) {
	for _, url := range []string{
		"", "redis://127.0.0.1:1/0", "rediss://user:secret@127.0.0.1:1/2",
		"redis-sentinel://127.0.0.1:1,127.0.0.2:1?master=rowmill", "redis-socket:///run/none.sock?db=1",
	} {
		a := &app{cfg: &config.Config{RedisURL: url, TimeZone: "Asia/Seoul"}, log: telemetry.NewLogger(t.Output(), "text", 0)}
		db, err := openDatabase(t.Context(), &config.Config{DataDir: filepath.Join(t.TempDir(), "data")}, a.log)
		if err != nil {
			t.Fatal(err)
		}
		a.db = db
		a.onClose(db.Close)
		if _, err := a.openHome(); err != nil {
			t.Errorf("%q: %v", url, err)
		}
		if err := a.close(); err != nil {
			t.Errorf("%q: close: %v", url, err)
		}
	}
}
