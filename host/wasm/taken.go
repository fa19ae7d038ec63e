package wasm

import "context"

// takenKey finds in the context of a turn the function that wants to know that the guest has its input.
type takenKey struct{}

// WithTaken is a context for a turn that tells when the input of the turn was taken: the guest has copied it into its
// own memory, and the instance keeps no copy. Taken is called on the goroutine of the turn, before the guest goes on,
// and maybe more than once.
func WithTaken(ctx context.Context, taken func()) context.Context {
	return context.WithValue(ctx, takenKey{}, taken)
}

// Taken tells the function of [WithTaken], if there is one.
func Taken(ctx context.Context) {
	if taken, ok := ctx.Value(takenKey{}).(func()); ok {
		taken()
	}
}
