package conformance

import (
	"testing"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
)

// futureCases are about a language with lazy futures: a workflow may never poll a
// future, drop it, lend it or forget it.
func futureCases() []testCase {
	futures := func(what, want string, journal ...string) testCase {
		return testCase{name: "future " + what, workflow: "Futures", only: "rust", input: what, want: want, journal: append([]string{}, journal...)}
	}
	alone := func(c testCase) testCase {
		c.drive = opensGateWhenAlone
		return c
	}
	forgotten := futures("forgotten", "gone open", "deferred gate")
	forgotten.drive = func(t *testing.T, b *testBundle, execution string) {
		harness.Pending(t, b.engine, execution, abi.OpDeferred, "gate")
		harness.Pending(t, b.engine, execution, abi.OpSleep, "")
		resolve(t, b, execution, "gate", "open")
	}
	// Its last step may be delivered before the end or not.
	detached := futures("detached", "by the task")
	detached.journal, detached.chancy = nil, true
	return []testCase{
		futures("never polled", "done"),
		alone(futures("dropped", "ready open", "deferred gate")),
		alone(futures("dropped by join", "true open", "sleep", "deferred gate")),
		futures("lent", "nothing yet 64", "activity square"),
		forgotten,
		detached,
		futures("in order", "second"),
		{
			name: "future of an interrupt", workflow: "OnInterrupt", only: "rust", input: object{}, want: "enough, enough, enough", journal: []string{"interrupted"},
			drive: func(t *testing.T, b *testBundle, execution string) {
				harness.Pending(t, b.engine, execution, abi.OpDeferred, "never")
				interrupt(t, b, execution)
			},
		},
	}
}
