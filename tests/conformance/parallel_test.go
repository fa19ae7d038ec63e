package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func parallelCases() []testCase {
	return []testCase{
		{name: "all of none", workflow: "All", input: object{"From": 1, "N": 0}, want: object{"value": 0}},
		{name: "all of forty", workflow: "All", input: object{"From": 20, "N": 40}, want: object{"value": squares(20, 60)}},
		{name: "all with a failure", workflow: "All", input: object{"From": 12, "N": 3}, want: object{"code": "CR-3001", "type": "unlucky", "text": "CR-3001: 13 is unlucky"}},
		{name: "first", workflow: "First", input: object{}, want: []int{1, 49}},
		{
			name: "the activity beats the timer", workflow: "Race", input: "activity", drive: opensGateWhenAlone, want: []string{"the activity won", "open"},
			journal: []string{"activity square", "deferred gate"},
		},
		{
			name: "the timer beats the activity", workflow: "Race", input: "timer", drive: opensGateWhenAlone, want: []string{"the timer won", "open"},
			journal: []string{"sleep", "deferred gate"},
		},
		{name: "select", workflow: "Select", input: object{}, want: []string{"two", "after"}},
		{name: "coroutines in coroutines", workflow: "Nested", input: 3, want: 32},
		{name: "a thousand coroutines", workflow: "Crowd", input: 1000, want: object{"ran": 1000, "in order": 1000}},
		{name: "one future for many", workflow: "Shared", only: "go", input: object{}, want: []int{9, 9, 9}, journal: []string{"activity square"}},
		{name: "two of different types", workflow: "Two", input: 6, want: []any{36, "noted: two"}},
		{name: "groups of none", workflow: "Groups", input: [][]int{}, want: object{"value": []any{}}},
		{name: "groups in a group", workflow: "Groups", input: [][]int{{1, 2}, {}, {3}, {4, 5, 6}}, want: object{"value": [][]int{{1, 4}, {}, {9}, {16, 25, 36}}}},
		{
			name: "groups with failures", workflow: "Groups", input: [][]int{{1, 2}, {3, 13, 4}, {13}},
			want: object{"code": "CR-3001", "type": "unlucky", "text": "CR-3001: 13 is unlucky"},
		},
		{
			name: "sleeps", workflow: "Sleeps", input: []int64{0, -5, int64(3 * time.Millisecond), 1}, want: []bool{true, true, true, true},
			journal: []string{"sleep", "sleep", "sleep", "sleep", "sleep"},
		},
	}
}

func squares(from, to int) int {
	sum := 0
	for i := from; i < to; i++ {
		sum += i * i
	}
	return sum
}

// opensGateWhenAlone waits until the workflow waits at its gate, checks that it
// waits for nothing else, and opens the gate.
func opensGateWhenAlone(t *testing.T, b *testBundle, execution string) {
	harness.Pending(t, b.engine, execution, abi.OpDeferred, "gate")
	d, err := b.engine.Describe(t.Context(), "", execution)
	require.NoError(t, err)
	var kinds []string
	for _, p := range d.Pending {
		kinds = append(kinds, p.Kind)
	}
	require.Equal(t, []string{abi.OpInterrupted, abi.OpDeferred}, kinds, "the workflow must not wait for the loser of the race")
	resolve(t, b, execution, "gate", "open")
}

func resolve(t *testing.T, b *testBundle, execution, name string, value any) {
	t.Helper()
	require.NoError(t, b.engine.Settle(t.Context(), "", execution, journal.Deferred{Name: name, Value: harness.Encode(t, value)}))
}
