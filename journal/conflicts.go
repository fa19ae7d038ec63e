package journal

import "context"

type conflictsKey struct{}

// AfterConflicts tells BeginGuest that the same work has collided so often before. A store with one writer gives it
// more time each time, so that work which takes longer than others like to wait is done in the end.
func AfterConflicts(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, conflictsKey{}, n)
}

// Conflicts is how often the work of ctx has collided before.
func Conflicts(ctx context.Context) int {
	n, _ := ctx.Value(conflictsKey{}).(int)
	return n
}
