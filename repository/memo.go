package repository

import (
	"sync"
	"time"
)

// memo keeps values for a while: at most max of them, each at most for age. It
// is safe for concurrent use.
type memo[V any] struct {
	max int
	age time.Duration
	now func() time.Time

	mu   sync.Mutex
	kept map[listKey]kept[V]
}

type kept[V any] struct {
	at    time.Time
	value V
}

func newMemo[V any](limit int, age time.Duration, now func() time.Time) *memo[V] {
	return &memo[V]{max: limit, age: age, now: now, kept: map[listKey]kept[V]{}}
}

// look gives what is kept under the key and not too old.
func (m *memo[V]) look(k listKey) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.kept[k]
	if !ok || m.now().Sub(e.at) >= m.age {
		return value, false
	}
	return e.value, true
}

// put keeps a value that was true at the time, in the place of the oldest if there is no other.
func (m *memo[V]) put(k listKey, at time.Time, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, had := m.kept[k]; !had && len(m.kept) >= m.max {
		var oldest listKey
		first := true
		for key, e := range m.kept {
			if first || e.at.Before(m.kept[oldest].at) {
				oldest, first = key, false
			}
		}
		delete(m.kept, oldest)
	}
	m.kept[k] = kept[V]{at, value}
}

// drop forgets what is kept under the key.
func (m *memo[V]) drop(k listKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, k)
}
