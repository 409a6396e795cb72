package cache

// eventNames are those of the metrics: a contract with dashboards.
var eventNames = [events]string{
	FirstHit: "first-hit", SecondHit: "second-hit", StaleHit: "stale-hit", Load: "load", LoadError: "load-error",
	SharedWait: "shared-wait", LockWait: "lock-wait", RedisError: "redis-error", Bypass: "bypass", Undecodable: "undecodable",
	Outdated: "outdated", Invalidated: "invalidated", Dropped: "dropped", Listening: "listening",
}

// String names the event.
func (e Event) String() string {
	if e >= events {
		return "unknown"
	}
	return eventNames[e]
}
