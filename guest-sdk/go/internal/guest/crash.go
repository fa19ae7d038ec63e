package guest

import (
	"runtime"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// Crash is the error of code that panicked, with the author's lines, and the whole stack. It is called by a deferred
// function.
func Crash(code abi.Code, value any) (*abi.Error, string) {
	where, stack := panicPlace()
	return abi.Errorf(code, "the module crashed: panic: %v%s", value, where), stack
}

// panicPlace says where code panicked, in the author's lines, and has the whole stack. It is called
// by a deferred function, directly or not.
func panicPlace() (where, stack string) {
	g, stack := stacks.Current()
	if i := slices.IndexFunc(g.Frames, func(f stacks.Frame) bool { return f.Function == "panic" }); i >= 0 {
		g.Frames = g.Frames[i+1:] // without later calls
	}
	return g.Where(), stack
}

// maxDepth bounds how much of a stack is read for [panicChain].
const maxDepth = 256

// panicChain lists the callers of the panicking function, up to the SDK: " (in strings.Repeat
// strings/strings.go:628 < main.pad shop/main.go:13)". It is called by the deferred function that
// recovered the panic.
func panicChain() string {
	var pcs [maxDepth]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	var calls []stacks.Frame
	panicking := false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		call := stacks.Frame{Function: f.Function, Place: stacks.Place(f.File, f.Line)}
		switch {
		case f.Function == "runtime.gopanic":
			panicking, calls = true, nil // without later calls
		case panicking && call.IsRunner():
			return stacks.Chain(calls)
		case panicking:
			calls = append(calls, call)
		}
	}
	return stacks.Chain(calls)
}
