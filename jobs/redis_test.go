package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"rowmill/internal/fault"
	"rowmill/internal/testdb"
)

func TestOpenRedisTakesTheQueuesURLs(t *testing.T) {
	c, err := OpenRedis(testdb.Redis(t), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Error(err)
	}
	sentinel, err := OpenRedis("redis-sentinel://:hunter2@127.0.0.1:1,127.0.0.1:2?master=main", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if o := sentinel.(*redis.Client).Options(); o.ReadTimeout != time.Minute || !o.ContextTimeoutEnabled {
		t.Errorf("%+v", o)
	}
	if err := sentinel.Close(); err != nil {
		t.Error(err)
	}
	for _, url := range []string{"", "http://:hunter2@h", "redis://:hunter2@h/x"} {
		if _, err := OpenRedis(url, time.Minute); fault.KindOf(err) != fault.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
