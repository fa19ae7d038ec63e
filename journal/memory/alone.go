package memory

import (
	"context"
	"slices"

	"github.com/cruster/cruster/journal"
)

// alone does something while no other call uses the store.
func alone[T any](ctx context.Context, s *Store, do func() (T, error)) (none T, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return none, err
	}
	defer leave()
	return do()
}

// find reads one row as a copy; ErrNotFound if there is none.
func find[K comparable, T any](ctx context.Context, s *Store, rows map[K]T, key K, clone func(T) T) (*T, error) {
	return alone(ctx, s, func() (*T, error) {
		row, there := rows[key]
		if !there {
			return nil, journal.ErrNotFound
		}
		row = clone(row)
		return &row, nil
	})
}

// list collects the results of take, of wanted rows only, in order, as many as the limit allows.
func list[K comparable, V, T any](
	ctx context.Context, s *Store, rows map[K]V, take func(K, V) (T, bool), compare func(a, b T) int, limit int,
) ([]T, error) {
	return alone(ctx, s, func() (found []T, _ error) {
		for key, row := range rows {
			if v, wanted := take(key, row); wanted {
				found = append(found, v)
			}
		}
		slices.SortFunc(found, compare)
		return found[:min(len(found), max(limit, 0))], nil
	})
}

func compareWakes(a, b journal.Wake) int { return compareTimes(a.At, b.At, a.ID, b.ID) }
