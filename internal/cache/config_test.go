package cache

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestKeysShareASlot(t *testing.T) {
	s := newSecond(textConfig{Name: "home", Schema: 3}.withDefaults().tier(), &counts{})
	tests := []struct{ text, tag string }{{"17", "17"}, {"", "%"}, {"a}b{c", "a%7Db%7Bc"}, {"%", "%25"}, {"}", "%7D"}, {"서울", "서울"}}
	for _, test := range tests {
		value := "rowmill:cache:v3:home:{" + test.tag + "}"
		if diff := cmp.Diff([]string{value, value + ":gen", value + ":lock"}, s.keys(test.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	obedient := &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, ContextTimeoutEnabled: true}
	tests := []struct {
		name   string
		adjust func(*textConfig)
		want   string // "": it is right
	}{
		{"right", func(*textConfig) {}, ""},
		{"name", func(c *textConfig) { c.Name = "A:b" }, "cannot be called"},
		{"no load", func(c *textConfig) { c.Load = nil }, "no Load"},
		{"time", func(c *textConfig) { c.RedisLimit = 200 }, "under a millisecond"},
		{"negative time", func(c *textConfig) { c.FirstTTL = -time.Second }, "under a millisecond"},
		{"size", func(c *textConfig) { c.Size = -1 }, "not negative"},
		{"schema", func(c *textConfig) { c.Schema = -1 }, "not negative"},
		{"single", func(c *textConfig) { c.Redis = redis.NewClient(obedient.Simple()) }, ""},
		{"sentinel", func(c *textConfig) { c.Redis = redis.NewFailoverClient(failover(obedient)) }, ""},
		{"cluster", func(c *textConfig) { c.Redis = redis.NewClusterClient(obedient.Cluster()) }, ""},
		{"no codec", func(c *textConfig) {
			c.Redis, c.Values = redis.NewClient(obedient.Simple()), Values[string]{}
		}, "cannot write"},
		{"limits that do not hold", func(c *textConfig) { c.Redis = redis.NewClient(&redis.Options{}) }, "ContextTimeoutEnabled"},
		{"cluster without limits", func(c *textConfig) { c.Redis = redis.NewClusterClient(&redis.ClusterOptions{}) }, "ContextTimeoutEnabled"},
		{"ring", func(c *textConfig) { c.Redis = redis.NewRing(&redis.RingOptions{}) }, "ContextTimeoutEnabled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := textConfig{Name: "texts", Load: newSource().load, Keys: Integers(), Values: JSON[string]()}
			test.adjust(&c)
			if c.Redis != nil {
				t.Cleanup(func() { _ = c.Redis.Close() })
			}
			err := c.withDefaults().Validate()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func failover(o *redis.UniversalOptions) *redis.FailoverOptions {
	failover := o.Failover()
	failover.MasterName = "main"
	return failover
}

func TestConnectTellsNoSecret(t *testing.T) {
	_, err := Connect("redis//:secret@host")
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestEveryEventIsObserved(t *testing.T) {
	seen := map[Event]int{}
	c := open(t, newSource(), func(c *textConfig) { c.Observe = func(e Event) { seen[e]++ } })
	wantGet(t, c, 1, "absent")
	wantGet(t, c, 1, "absent")
	if diff := cmp.Diff(map[Event]int{Load: 1, FirstHit: 1}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
