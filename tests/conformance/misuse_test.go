package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// resumeKeepsTheJournal resumes a paused execution. Its code has not changed, so it is paused again, for the same
// reason and with the same journal.
func resumeKeepsTheJournal(t *testing.T, b *testBundle, row *journal.Execution) {
	t.Helper()
	before, _, err := b.engine.Observer().History(t.Context(), "", row.Name(), 0, 0)
	require.NoError(t, err)
	require.NotEmpty(t, before)
	require.NoError(t, b.engine.Executions().Resume(t.Context(), "", row.Name()))
	again := harness.Wait(t, b.engine, row.Name())
	require.Equal(t, journal.Paused, again.State)
	require.Equal(t, row.Error.Code, again.Error.Code)
	after, _, err := b.engine.Observer().History(t.Context(), "", row.Name(), 0, 0)
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestEndlessTurn uses separate engines, with a short turn timeout.
func TestEndlessTurn(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, l language, kind string) {
		b := setup(t, l, kind, nil, func(c *host.Config) { c.TurnTimeout = 500 * time.Millisecond })
		endless := harness.Start(t, b.engine, "conformance/Misuse", "loop")
		// On a loaded machine an ordinary turn may exceed the timeout, too.
		tries := 0
		harness.Eventually(t, "others go on", func() bool {
			tries++
			row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Sequence", tries))
			return row.State == journal.Completed
		})
		row := harness.Wait(t, b.engine, endless)
		require.Equal(t, journal.Paused, row.State)
		require.Equal(t, abi.CodeCrashLoop, row.Error.Code, "%v", row.Error)
		require.Contains(t, row.Error.Message, string(abi.CodeGuestTimeout))
		require.Regexp(t, map[string]string{
			"go":   `\(in main\.init\.func\d+ \(conformance/misuse\.go:(29|30)\)`,
			"rust": `\(task 0, after activity square at src/misuse\.rs:15\)`,
		}[l.name], row.Error.Message)
	})
}

// TestEndlessLoopShowsLines: of a loop in Go, in a workflow and in an activity. They are stopped for the fuel that they
// used, so they are in the loop however slow the machine is.
func TestEndlessLoopShowsLines(t *testing.T) {
	t.Parallel()
	l := wholeLanguages()[0]
	require.Equal(t, "go", l.name)
	b := setup(t, l, "sqlite", nil, func(c *host.Config) { c.TurnFuel, c.ActivityFuel = 50_000_000, 50_000_000 })
	row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Misuse", "loop"))
	require.Equal(t, journal.Paused, row.State)
	require.Regexp(
		t,
		`has used up its fuel, 50000000 units, and was stopped \(in main\.init\.func\d+ \(conformance/misuse\.go:(29|30)\)\)`,
		row.Error.Message,
	)

	row = harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Crash", "loop for long"))
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	entries, _, err := b.engine.Observer().History(t.Context(), "", row.Name(), 0, 0)
	require.NoError(t, err)
	failed := 0
	for _, entry := range entries {
		if entry.Error != nil {
			failed++
			require.Regexp(t, `\(in main\.init\.func\d+ \(conformance/steps\.go:15[34]\)\)`, entry.Error.Message)
		}
	}
	require.Equal(t, 2, failed, "both attempts")
}

// TestDeadlockShowsLines: of each coroutine or task, and the author's.
func TestDeadlockShowsLines(t *testing.T) {
	t.Parallel()
	for _, l := range wholeLanguages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, l, "sqlite", nil)
			for what, says := range map[string]map[string]string{
				"deadlock by channel": {
					"go": `: coroutine 0, the workflow itself, waits for a channel at conformance/misuse\.go:\d+; ` +
						`coroutine 1, begun at conformance/misuse\.go:(\d+), waits for a channel at conformance/misuse\.go:\d+$`,
					"rust": `: task 0, the workflow itself, waits for a channel at src/misuse\.rs:\d+; ` +
						`task 1, begun at src/misuse\.rs:\d+, waits for a channel at src/misuse\.rs:\d+$`,
				},
				"deadlock of two": {
					"go":   `coroutine 1, begun at conformance/misuse\.go:\d+, waits for coroutine 2 at conformance/misuse\.go:\d+; coroutine 2,`,
					"rust": `task 1, begun at src/misuse\.rs:\d+, waits for a future that is not the SDK's; task 2,`,
				},
				"deadlock": {
					"go":   `goroutine \d+, in main\.init\.func\d+, waits \(chan receive\) at conformance/misuse\.go:\d+$`,
					"rust": `: task 0, the workflow itself, waits for a future that is not the SDK's, after activity square at src/misuse\.rs:15$`,
				},
			} {
				row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Misuse", what))
				require.Equal(t, journal.Paused, row.State)
				require.Equal(t, abi.CodeGuestDeadlock, row.Error.Code, "%v", row.Error)
				require.Regexp(t, says[l.name], row.Error.Message, what)
				require.NotContains(t, row.Error.Message, "guest-sdk")
			}
		})
	}
}

// TestCrashesInRustShowTheAuthor: a panic names its line alone, which may be a library's, and other crashes name
// none. A line of the author's is added.
func TestCrashesInRustShowTheAuthor(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(languages, func(l language) bool { return l.name == "rust" })
	require.GreaterOrEqual(t, i, 0)
	b := setup(t, languages[i], "sqlite", nil)
	for what, says := range map[string]string{
		"abort":      `the module crashed: unreachable`,
		"hog":        `the module ran out of memory at \d+ KiB of \d+ KiB`,
		"lock twice": `panicked at .*library/std/.*\.rs:.*cannot recursively acquire mutex`,
		"recurse":    `the module crashed: out of bounds memory access`,
	} {
		row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Misuse", what))
		require.Equal(t, journal.Paused, row.State)
		require.Equal(t, abi.CodeCrashLoop, row.Error.Code, "%v", row.Error)
		require.Regexp(t, says+` \(.*task 0, after activity square at src/misuse\.rs:15\)$`, row.Error.Message)
	}
}

// TestBlockingSleepShowsItsLine: in Go, whose runtime tells which goroutine sleeps. In Rust the last durable call is
// shown.
func TestBlockingSleepShowsItsLine(t *testing.T) {
	t.Parallel()
	for _, l := range wholeLanguages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, l, "sqlite", nil)
			row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Misuse", "blocking sleep"))
			require.Equal(t, journal.Paused, row.State)
			require.Equal(t, abi.CodeBlockingSleep, row.Error.Code, "%v", row.Error)
			require.Regexp(t, map[string]string{
				"go":   `^the module tried to block for 1s: goroutine \d+, in main\.init\.func\d+, waits \(sleep\) at conformance/misuse\.go:18$`,
				"rust": `^the module tried to block for 1s \(task 0, after activity square at src/misuse\.rs:15\)$`,
			}[l.name], row.Error.Message)
		})
	}
}

// TestMisuseHarmsOnlyItself runs guests that panic, exit, leak and recurse in workflows, activities and key functions,
// while ordinary workflows run on the same host. The ordinary ones must not be affected. For endless workflows see
// [TestEndlessTurn].
func TestMisuseHarmsOnlyItself(t *testing.T) {
	t.Parallel()
	for _, l := range wholeLanguages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, l, "sqlite", nil)
			var paused, crashed []string
			for _, what := range []string{"panic", "panic in a coroutine", "exit", "hog", "recurse", "blocking sleep"} {
				paused = append(paused, harness.Start(t, b.engine, "conformance/Misuse", what))
			}
			for _, how := range []string{"panic", "exit", "loop", "hog", "recurse"} {
				crashed = append(crashed, harness.Start(t, b.engine, "conformance/Crash", how))
			}
			_, _, err := b.engine.Launcher().Start(t.Context(), host.StartRequest{
				Workflow: "conformance/RawKey", Input: harness.Encode(t, object{"id": "panic", "other": 1}),
			})
			require.Equal(t, abi.CodeKeyFunction, abi.CodeOf(err), "%v", err)

			var good []string
			for n := range 30 {
				good = append(good, harness.Start(t, b.engine, "conformance/Sequence", n))
			}
			for n, execution := range good {
				row := harness.Wait(t, b.engine, execution)
				require.Equal(t, journal.Completed, row.State, "%v", row.Error)
				require.Len(t, harness.Decode[[]int](t, row.Value), n)
			}
			for _, execution := range paused {
				row := harness.Wait(t, b.engine, execution)
				require.Equal(t, journal.Paused, row.State, "value %x, error %v", row.Value, row.Error)
			}
			for _, execution := range crashed {
				row := harness.Wait(t, b.engine, execution)
				require.Equal(t, journal.Completed, row.State, "%v", row.Error)
				require.Contains(
					t, []any{string(abi.CodeActivityCrashed), string(abi.CodeActivityTimeout)},
					harness.Decode[object](t, row.Value)["code"],
				)
			}
		})
	}
}
