package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func stepCases() []testCase {
	step := "activity Steps.add"
	failed, flaky := "activity flaky failed", "activity flaky"
	gaveUp := flaky + " " + string(abi.CodeActivityFailed)
	lastError := func(n string) object {
		return object{"code": "CR-3001", "type": "flaky", "text": "CR-3001: attempt " + n + " failed"}
	}
	return []testCase{
		{name: "no steps", workflow: "Sequence", input: 0, want: []int{}, journal: []string{}},
		{name: "steps one after the other", workflow: "Sequence", input: 5, want: []int{0, 1, 3, 6, 10}, journal: []string{step, step, step, step, step}},
		{name: "thirty steps", workflow: "Sequence", input: 30, after: func(t *testing.T, _ *testBundle, row *journal.Execution) {
			require.Len(t, harness.Decode[[]int](t, row.Value), 30)
		}},
		{name: "first attempt succeeds", workflow: "Retry", input: object{"failures": 0, "retries": 3}, want: object{"value": 1}, journal: []string{flaky}},
		{name: "third attempt succeeds", workflow: "Retry", input: object{"failures": 2, "retries": 3}, want: object{"value": 3}, journal: []string{failed, failed, flaky}},
		{
			name: "last attempt succeeds", workflow: "Retry", input: object{"failures": 3, "retries": 3, "backoff": "constant"},
			want: object{"value": 4}, journal: []string{failed, failed, failed, flaky},
		},
		{
			name: "backoff with jitter", workflow: "Retry", input: object{"failures": 2, "retries": 2, "jitter": 1.0},
			want: object{"value": 3}, journal: []string{failed, failed, flaky},
		},
		{name: "no retries", workflow: "Retry", input: object{"failures": 1, "retries": 0}, want: lastError("1"), journal: []string{gaveUp}},
		{name: "retries exhausted and handled", workflow: "Retry", input: object{"failures": 9, "retries": 2}, want: lastError("3"), journal: []string{failed, failed, gaveUp}},
		{name: "not worth a retry", workflow: "Retry", input: object{"failures": 9, "retries": 5, "final": true}, want: lastError("1"), journal: []string{gaveUp}},
		{
			name: "retries exhausted and not handled", workflow: "Exhaust", input: object{"failures": 9, "retries": 1},
			state: journal.Failed, code: abi.CodeWorkflowFailed, text: "attempt 2 failed", journal: []string{failed, gaveUp},
		},
		{name: "idempotency keys", workflow: "Idempotent", input: object{}, want: object{"failed with its key": true, "steps differ": true}},
	}
}

func crashCases() []testCase {
	crashed := object{"code": string(abi.CodeActivityCrashed)}
	timedOut := object{"code": string(abi.CodeActivityTimeout)}
	return []testCase{
		{name: "activity blocks", workflow: "Block", input: false, want: timedOut, journal: []string{"activity block failed", "activity block CR-3002"}},
		{name: "activity blocks once", workflow: "Block", input: true, want: object{"value": true}, chancy: true},
		{name: "activity panics", workflow: "Crash", input: "panic", want: crashed, journal: []string{"activity crash failed", "activity crash CR-3003"}, after: panicIsPlaced},
		{name: "activity panics once", workflow: "Crash", input: "panic once", want: object{"value": 2}},
		{name: "activity exits", workflow: "Crash", input: "exit", want: crashed},
		{name: "activity loops", workflow: "Crash", input: "loop", want: timedOut},
		{name: "activity hogs memory", workflow: "Crash", input: "hog", want: crashed},
		{name: "activity recurses", workflow: "Crash", input: "recurse", want: crashed},
		{name: "activity follows nil", workflow: "Crash", input: "nil", want: crashed, only: "go"},
		{name: "activity aborts", workflow: "Crash", input: "abort", want: crashed, only: "rust"},
		{name: "activity leaves a slice", workflow: "Crash", input: "index", want: crashed, only: "rust", after: panicIsPlaced},
		{name: "activity waits for nothing", workflow: "Crash", input: "wait", want: object{"code": string(abi.CodeWrongContext)}, only: "rust"},
		{name: "activity survives", workflow: "Crash", input: "not at all", want: object{"value": 1}},
	}
}

// panicIsPlaced checks that the journal holds the message of a panic, and its file
// and line if the language reports them.
func panicIsPlaced(t *testing.T, b *testBundle, row *journal.Execution) {
	entries := history(t, b, row.Name())
	last := entries[len(entries)-1]
	require.Regexp(t, "told to|index out of bounds", last.Error.Message)
	require.Regexp(t, map[string]string{"go": `steps\.go:[0-9]+`, "rust": `steps\.rs:[0-9]+`}[b.language], last.Error.Message)
}
