package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func interruptCases() []testCase {
	whenWaiting := func(t *testing.T, b *testBundle, execution string) {
		harness.Pending(t, b.engine, execution, abi.OpDeferred, "never")
		interrupt(t, b, execution)
		// A second request changes nothing: the execution is already interrupted, or
		// has ended.
		if err := b.engine.Interrupt(t.Context(), "", execution, "again"); err != nil {
			require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(err), "%v", err)
		}
	}
	return []testCase{
		{
			name: "interrupt with cleanup", workflow: "Interruptible", input: "as interrupted", drive: whenWaiting,
			state: journal.Interrupted, code: abi.CodeInterrupted, text: "enough",
			journal: []string{"interrupted", "activity note", "sleep"},
		},
		{
			name: "interrupt swallowed", workflow: "Interruptible", input: "as if nothing was", drive: whenWaiting,
			want: []string{"noted: enough"},
		},
		{
			name: "interrupt not handled", workflow: "Unhandled", input: object{}, drive: whenWaiting,
			state: journal.Interrupted, code: abi.CodeInterrupted, text: "enough", journal: []string{"interrupted"},
		},
		{
			name: "interrupt at once", workflow: "Unhandled", input: object{}, drive: interrupt,
			state: journal.Interrupted, code: abi.CodeInterrupted, text: "enough",
		},
		{
			name: "interrupt before the wait", workflow: "InterruptedEarly", input: object{}, want: []bool{false, true, false, true},
			drive: func(t *testing.T, b *testBundle, execution string) {
				harness.Pending(t, b.engine, execution, abi.OpDeferred, "gate")
				interrupt(t, b, execution)
				harness.Eventually(t, "the interrupt is delivered", func() bool {
					d, err := b.engine.Describe(t.Context(), "", execution)
					return err == nil && d.Entries == 1
				})
				resolve(t, b, execution, "gate", "open")
			},
		},
		interruptedWait("sleep", abi.OpSleep, ""),
		interruptedWait("activity", abi.OpActivity, "block"),
		interruptedWait("child", abi.OpCall, "Await", "Await"),
		interruptedWait("many", abi.OpSleep, ""),
		interruptedWait("coroutine", abi.OpSleep, ""),
		{
			name: "interrupt after the end", workflow: "Double", input: 3, want: 6,
			after: func(t *testing.T, b *testBundle, row *journal.Execution) {
				err := b.engine.Interrupt(t.Context(), "", row.Name(), "late")
				require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(err), "%v", err)
			},
		},
	}
}

func interrupt(t *testing.T, b *testBundle, execution string) {
	require.NoError(t, b.engine.Interrupt(t.Context(), "", execution, "enough"))
}

// interruptedWait interrupts a workflow that waits for an op. The workflow does
// not handle the interrupt; it only adds words to the error.
func interruptedWait(what, kind, name string, needs ...string) testCase {
	return testCase{
		name: "interrupt in a wait for " + what, workflow: "InterruptedWait", needs: needs, input: what,
		state: journal.Interrupted, code: abi.CodeInterrupted, text: "while waiting: the execution was asked to stop: enough",
		journal: []string{"interrupted"},
		drive: func(t *testing.T, b *testBundle, execution string) {
			harness.Pending(t, b.engine, execution, kind, name)
			interrupt(t, b, execution)
		},
	}
}
