package blob

import (
	"context"
	"iter"
)

// Keys gives the keys of the files that List gives.
func (s *Store) Keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o, err := range s.List(ctx, prefix) {
			if !yield(o.Key, err) {
				return
			}
		}
	}
}
