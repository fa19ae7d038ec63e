package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func misuseCases() []testCase {
	paused := func(what string, code abi.Code, text string) testCase {
		return testCase{
			name: "misuse " + what, workflow: "Misuse", input: what,
			state: journal.Paused, code: code, text: text, after: resumeKeepsTheJournal,
		}
	}
	// Whoever reads of a panic reads where it was.
	placed := func(c testCase) testCase {
		c.words = map[string]string{"go": "misuse.go:", "rust": "misuse.rs:"}
		return c
	}
	only := func(language string, c testCase) testCase {
		c.only = language
		return c
	}
	return []testCase{
		paused("blocking sleep", abi.CodeBlockingSleep, ""),
		placed(paused("panic", abi.CodeCrashLoop, "the workflow panicked as it was told")),
		placed(paused("panic in a coroutine", abi.CodeCrashLoop, "the coroutine panicked as it was told")),
		paused("exit", abi.CodeCrashLoop, string(abi.CodeGuestExit)),
		paused("hog", abi.CodeCrashLoop, string(abi.CodeGuestMemory)),
		paused("deadlock", abi.CodeGuestDeadlock, ""),
		only("go", paused("goroutine", abi.CodeCrashLoop, string(abi.CodeGuestGoroutine))),
		only("go", paused("empty context", abi.CodeCrashLoop, string(abi.CodeWrongContext))),
		{name: "no misuse", workflow: "Misuse", input: "nothing", want: "survived"},
		{name: "channels and goroutines", workflow: "Channels", only: "go", input: 4, want: 14},
	}
}

// resumeKeepsTheJournal resumes a paused execution. As its code has not changed
// it is paused again, for the same reason and with the same journal.
func resumeKeepsTheJournal(t *testing.T, b *testBundle, row *journal.Execution) {
	before, err := b.engine.History(t.Context(), "", row.Name(), 0, 0)
	require.NoError(t, err)
	require.NotEmpty(t, before)
	require.NoError(t, b.engine.Resume(t.Context(), "", row.Name()))
	again := harness.Wait(t, b.engine, row.Name())
	require.Equal(t, journal.Paused, again.State)
	require.Equal(t, row.Error.Code, again.Error.Code)
	after, err := b.engine.History(t.Context(), "", row.Name(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestEndlessTurn has engines of its own: their turns are short.
func TestEndlessTurn(t *testing.T) {
	t.Parallel()
	for _, l := range wholeLanguages() {
		for _, kind := range harness.StoreKinds {
			t.Run(l.name+"-"+kind, func(t *testing.T) {
				t.Parallel()
				b := setup(t, l, kind, nil, func(c *host.Config) { c.TurnTimeout = 500 * time.Millisecond })
				row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Misuse", "loop"))
				require.Equal(t, journal.Paused, row.State)
				require.Equal(t, abi.CodeCrashLoop, row.Error.Code, "%v", row.Error)
				require.Contains(t, row.Error.Message, string(abi.CodeGuestTimeout))
				require.Equal(t, "survived", harness.Execute[string](t, b.engine, "conformance/Misuse", "nothing"), "the engine goes on")
			})
		}
	}
}
