package guest

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// inModule runs a workflow as a module does: on threads.
func inModule(t *testing.T, run func(Scope, []byte) ([]byte, error)) (*Execution, *abi.Outcome) {
	t.Helper()
	return setup(t, run).Start(&silentHost{}, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"}, Options{})
}

// Threads are switched in the same order as goroutines, and used again.
func TestThreadsRunInTheOrderOfTheQueue(t *testing.T) {
	t.Parallel()
	for range 3 {
		var trace []string
		_, out := inModule(t, spawning(&trace))
		require.Equal(t, abi.Nil, out.Value)
		require.Equal(t, inOrder, trace)
	}
}

// A workflow on a thread parks between two turns, and goes on in the next.
func TestThreadParksBetweenTurns(t *testing.T) {
	t.Parallel()
	ex, out := inModule(t, sleepOnce)
	require.Nil(t, out)
	ex.Close()
	require.Nil(t, ex.Outcome(), "what a module leaves, the host discards")
	out = ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: abi.Nil}}})
	require.NotNil(t, out)
	require.Nil(t, out.Error)
	require.Equal(t, abi.Nil, out.Value)
}

// The stack of a panic begins with the panicking function, and has all of its callers.
func TestPanicStack(t *testing.T) {
	t.Parallel()
	var stack string
	func() {
		defer func() {
			require.Equal(t, "kaboom", recover())
			stack = panicStack(string(debug.Stack()))
		}()
		panicHere()
	}()
	lines := strings.Split(stack, "\n")
	require.Regexp(t, `^goroutine \d+ \[running\]:$`, lines[0])
	require.Contains(t, lines[1], "guest.panicHere(")
	require.Contains(t, lines[2], "thread_test.go:")
	require.Contains(t, stack, "guest.TestPanicStack(")
	require.Equal(t, "no stack", panicStack("no stack"))
}

//go:noinline
func panicHere() { panic("kaboom") }
