package jobs

import (
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"rowmill/internal/fault"
)

// OpenRedis gives a client of the Redis that the URL names, for other uses than the
// queue: see NewQueue for the forms. Each try of a call may take up to the timeout, and
// a call ends with its context. It connects when it is first used; the caller closes it.
func OpenRedis(redisURL string, timeout time.Duration) (redis.UniversalClient, error) {
	opt, err := redisOption(redisURL)
	if err != nil {
		return nil, err
	}
	switch o := opt.(type) {
	case asynq.RedisClientOpt:
		return redis.NewClient(&redis.Options{
			Network: o.Network, Addr: o.Addr, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
			DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, ContextTimeoutEnabled: true,
			// Only Redis Enterprise knows them; others refuse them on every new connection.
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}), nil
	case asynq.RedisFailoverClientOpt:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: o.MasterName, SentinelAddrs: o.SentinelAddrs, SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
			Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
			DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout, ContextTimeoutEnabled: true,
		}), nil
	}
	return nil, fault.New(fault.Internal, "The Redis client is not one that this release knows.")
}
