package guest

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// Crash is the error of code that panicked, with the author's lines, and the whole stack. It is called by a deferred function.
func Crash(code abi.Code, value any) (*abi.Error, string) {
	g, stack := stacks.Current()
	if i := slices.IndexFunc(g.Frames, func(f stacks.Frame) bool { return f.Function == "panic" }); i >= 0 {
		g.Frames = g.Frames[i+1:] // without what was called since
	}
	return abi.Errorf(code, "the module crashed: panic: %v%s", value, g.Where()), stack
}
