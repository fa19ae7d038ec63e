package guest

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// Crash is the error of code that panicked, with the author's lines, and the whole stack. It is called by a deferred function.
func Crash(code abi.Code, value any) (*abi.Error, string) {
	where, stack := panicPlace()
	return abi.Errorf(code, "the module crashed: panic: %v%s", value, where), stack
}

// panicPlace says where code panicked, in the author's lines, and has the whole stack. It is called by a deferred function, or by
// what that calls.
func panicPlace() (where, stack string) {
	g, stack := stacks.Current()
	if i := slices.IndexFunc(g.Frames, func(f stacks.Frame) bool { return f.Function == "panic" }); i >= 0 {
		g.Frames = g.Frames[i+1:] // without what was called since
	}
	return g.Where(), stack
}
