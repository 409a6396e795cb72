// Package batch turns many questions for single keys into few reads of many.
//
// A Loader lives for one request and for one kind of value. Its callers ask for
// keys, one after the other or all at once; each key is read once, in a batch of
// at most Limit keys. What was read, and what was not there, is remembered until
// the request ends. An error is told to those who waited for it and forgotten.
//
// No timer says when a batch goes. While no batch is being read, a question goes
// at once, with every key that Want has collected by then; while one is, keys
// gather, and go together when it has ended. So code that asks one key after the
// other loses no time, and code that knows its keys says so with Want or LoadMany.
//
// It is our own, since the kept ones (graph-gophers/dataloader v7, vikstrous/
// dataloadgen) wait 16 ms for more keys unless a batch is full, let callers wait
// beyond their context, and read a batch in the context of its first caller, whose
// end fails the others; the first of them also keeps errors as results.
package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Limit is the most keys of one batch: with them a statement has fewer than
// the 999 parameters that every SQLite takes.
const Limit = 900

// ErrClosed is the error of keys that are asked of a Loader after its Close.
var ErrClosed = errors.New("the batch loader is closed")

// Func reads the values of the keys, which are distinct, in the order they were
// asked, and at most Limit. A key that its answer lacks is absent. A panic in it
// becomes the batch's error.
type Func[K comparable, V any] func(ctx context.Context, keys []K) (map[K]V, error)

// Loader reads keys of one kind for one request. It is safe for concurrent use.
type Loader[K comparable, V any] struct {
	read  Func[K, V]
	limit int
	ctx   context.Context // the request's: a batch outlives those who ask, not the request
	end   context.CancelFunc

	mu      sync.Mutex
	known   map[K]*answer[V]
	waiting []*round[K] // batches that gather keys; only the last is not full
	busy    bool        // a goroutine reads what waits
	closed  bool
	running sync.WaitGroup
}

// answer is what is or will be known of a key; a round that has ended says which.
type answer[V any] struct {
	ended <-chan struct{}
	err   *error // the round's
	value V
	found bool
}

// round is a batch of keys.
type round[K comparable] struct {
	keys  []K
	ended chan struct{}
	err   error // once ended is closed
}

// New gives a Loader for the request whose context is ctx. A batch holds at most
// limit keys; 0 means Limit. It has to be closed.
func New[K comparable, V any](ctx context.Context, read Func[K, V], limit int) *Loader[K, V] {
	if limit <= 0 {
		limit = Limit
	}
	ctx, end := context.WithCancel(ctx) //nolint:gosec // Close calls it
	return &Loader[K, V]{read: read, limit: limit, ctx: ctx, end: end, known: map[K]*answer[V]{}}
}

// Want collects keys that will be asked for: the next batch takes them along. It
// reads nothing by itself.
func (l *Loader[K, V]) Want(keys ...K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		l.ask(key)
	}
}

// Prime makes the value known, unless the key has been asked for before.
func (l *Loader[K, V]) Prime(key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.known[key] != nil {
		return
	}
	l.known[key] = &answer[V]{ended: over, err: new(error), value: value, found: true}
}

// Load gives the key's value; false if there is none. It waits no longer than ctx.
func (l *Loader[K, V]) Load(ctx context.Context, key K) (value V, found bool, err error) {
	a, err := l.start(key)
	if err != nil {
		return value, false, err
	}
	return a[0].wait(ctx)
}

// LoadMany gives the values of those keys that exist, or the first error.
func (l *Loader[K, V]) LoadMany(ctx context.Context, keys []K) (map[K]V, error) {
	answers, err := l.start(keys...)
	if err != nil {
		return nil, err
	}
	values := make(map[K]V, len(keys))
	for i, a := range answers {
		value, found, err := a.wait(ctx)
		if err != nil {
			return nil, err
		}
		if found {
			values[keys[i]] = value
		}
	}
	return values, nil
}

// Close ends the batch that is being read and waits for its end.
func (l *Loader[K, V]) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end()
	l.running.Wait()
}

// over is closed: what waits for nothing waits for it.
var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// start gives the keys' answers, and sees to it that they come.
func (l *Loader[K, V]) start(keys ...K) ([]*answer[V], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	answers := make([]*answer[V], len(keys))
	for i, key := range keys {
		answers[i] = l.ask(key)
	}
	if !l.busy && len(l.waiting) > 0 && slices.ContainsFunc(answers, (*answer[V]).pending) {
		l.busy = true
		l.running.Go(l.run)
	}
	return answers, nil
}

// ask gives the key's answer, a new one in the last batch if there is none. The caller has the lock.
func (l *Loader[K, V]) ask(key K) *answer[V] {
	if a := l.known[key]; a != nil {
		return a
	}
	last := len(l.waiting) - 1
	if last < 0 || len(l.waiting[last].keys) >= l.limit {
		l.waiting = append(l.waiting, &round[K]{ended: make(chan struct{})})
		last++
	}
	r := l.waiting[last]
	r.keys = append(r.keys, key)
	a := &answer[V]{ended: r.ended, err: &r.err}
	l.known[key] = a
	return a
}

// run reads batches until none waits.
func (l *Loader[K, V]) run() {
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.busy = false
			l.mu.Unlock()
			return
		}
		r := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		values, err := l.guarded(r.keys)
		l.finish(r, values, err)
	}
}

// guarded calls read, and makes an error of a panic.
func (l *Loader[K, V]) guarded(keys []K) (values map[K]V, err error) {
	if err := l.ctx.Err(); err != nil {
		return nil, context.Cause(l.ctx)
	}
	defer func() {
		if r := recover(); r != nil {
			values, err = nil, fmt.Errorf("read a batch of %d: panic: %v", len(keys), r)
		}
	}()
	// The reader may do with its keys what it likes: ours say whom to answer.
	values, err = l.read(l.ctx, slices.Clone(keys))
	if err != nil {
		return nil, fmt.Errorf("read a batch of %d: %w", len(keys), err)
	}
	return values, nil
}

// finish tells those who wait. After an error the keys are as if never asked.
func (l *Loader[K, V]) finish(r *round[K], values map[K]V, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range r.keys {
		if err != nil {
			delete(l.known, key)
			continue
		}
		a := l.known[key]
		a.value, a.found = values[key]
	}
	r.err = err
	close(r.ended)
}

func (a *answer[V]) pending() bool {
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

func (a *answer[V]) wait(ctx context.Context) (value V, found bool, err error) {
	if a.pending() { // what is known is given whatever ctx says
		select {
		case <-ctx.Done():
			return value, false, context.Cause(ctx)
		case <-a.ended:
		}
	}
	if *a.err != nil {
		return value, false, *a.err
	}
	return a.value, a.found, nil
}
