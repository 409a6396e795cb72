package pool

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"
)

type result[T any] struct {
	value T
	err   error
}

// Map calls fn for each input on the lane's slots and yields the results in the
// order of the inputs. At most window inputs are past their reading and not yet
// yielded. The first error, of the input or of fn, is yielded once and ends the
// stream, as does the end of ctx; a panic of fn is an error. When the stream
// ends, for whatever reason, no goroutine of it is left.
func Map[In, Out any](ctx context.Context, lane *Lane, window int, inputs iter.Seq2[In, error], fn func(context.Context, In) (Out, error)) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		inner, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()

		ordered := make(chan chan result[Out], max(1, window)) // never fuller than the tickets allow
		tickets := make(chan struct{}, max(1, window))
		running.Go(func() {
			defer close(ordered)
			produce(inner, lane, &running, tickets, ordered, inputs, fn)
		})
		for future := range ordered {
			r := <-future
			<-tickets
			if !yield(r.value, r.err) || r.err != nil {
				return
			}
		}
		if ctx.Err() != nil { // cut off, not done
			var none Out
			yield(none, context.Cause(ctx))
		}
	}
}

// produce starts fn for each input, in order, as tickets and slots allow.
func produce[In, Out any](ctx context.Context, lane *Lane, running *sync.WaitGroup, tickets chan struct{}, ordered chan<- chan result[Out],
	inputs iter.Seq2[In, error], fn func(context.Context, In) (Out, error)) {
	for input, err := range inputs {
		select {
		case tickets <- struct{}{}:
		case <-ctx.Done():
			return
		}
		future := make(chan result[Out], 1)
		if err == nil {
			err = lane.acquire(ctx)
		}
		if err != nil {
			future <- result[Out]{err: err}
		} else {
			running.Go(func() {
				defer lane.release()
				began, r := time.Now(), &onSlot{pool: lane.pool}
				value, err := call(context.WithValue(ctx, slotKey{}, r), input, fn)
				lane.pool.observe(ctx, r, began)
				future <- result[Out]{value, err}
			})
		}
		select {
		case ordered <- future:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func call[In, Out any](ctx context.Context, input In, fn func(context.Context, In) (Out, error)) (value Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(ctx, input)
}
