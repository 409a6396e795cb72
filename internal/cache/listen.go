package cache

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// silence is how long a subscription may say nothing before it is asked
	// whether it lives; if it says nothing for as long again, it does not.
	silence = time.Second
	// resubscribe is the pause before a lost subscription is made anew.
	resubscribe = 100 * time.Millisecond
)

// listen hears what other processes invalidate until ctx ends, and calls again
// each time the subscription is made, since what was said before was not heard.
func (s *second) listen(ctx context.Context, hear func(text string), again func()) {
	for {
		s.subscription(ctx, hear, again)
		select {
		case <-ctx.Done():
			return
		case <-time.After(resubscribe):
		}
	}
}

// subscription listens until it is lost.
func (s *second) subscription(ctx context.Context, hear func(string), again func()) {
	line := s.redis.Subscribe(ctx)
	hangUp := func() { _ = line.Close() } // what it held is lost or told anew
	defer hangUp()
	defer context.AfterFunc(ctx, hangUp)()
	if subscribe(ctx, line, s.channel()) != nil {
		return
	}
	asked := false
	for {
		message, err := receive(ctx, line)
		var late net.Error
		switch {
		case err == nil:
			asked = false
		case errors.As(err, &late) && late.Timeout() && !asked && ctx.Err() == nil:
			if line.Ping(ctx) != nil {
				return
			}
			asked = true
			continue
		default:
			return
		}
		switch m := message.(type) {
		case *redis.Subscription:
			again()
			s.counts.add(Listening)
		case *redis.Message:
			if text, foreign := s.foreign(m.Payload); foreign {
				hear(text)
			}
		}
	}
}

// subscribe has a limit, since a connection that is being made cannot be hung up.
func subscribe(ctx context.Context, line *redis.PubSub, channel string) error {
	limited, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	return line.Subscribe(limited, channel)
}

// receive waits for a message for as long as silence, and to be connected for a while more.
func receive(ctx context.Context, line *redis.PubSub) (any, error) {
	limited, cancel := context.WithTimeout(ctx, 2*silence)
	defer cancel()
	return line.ReceiveTimeout(limited, silence)
}
