package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func deferredCases() []testCase {
	return []testCase{
		{
			name: "resolved from outside", workflow: "Await", input: "x", want: object{"value": "42"}, journal: []string{"deferred answer"},
			drive: func(t *testing.T, b *testBundle, execution string) {
				harness.Pending(t, b.engine, execution, abi.OpDeferred, "answer")
				resolve(t, b, execution, "answer", "42")
			},
		},
		{
			name: "rejected from outside", workflow: "Await", input: "x", want: object{"code": "CR-2014", "type": "denied", "text": "CR-2014: no means no"},
			drive: func(t *testing.T, b *testBundle, execution string) {
				require.NoError(t, b.engine.Settle(t.Context(), "", execution, journal.Deferred{
					Name: "answer", Error: &abi.Error{Type: "denied", Message: "no means no"},
				}))
			},
		},
		{
			name: "resolved before it is awaited", workflow: "AwaitLate", input: object{}, want: object{"value": "early"},
			journal: []string{"deferred gate", "deferred answer"},
			drive: func(t *testing.T, b *testBundle, execution string) {
				resolve(t, b, execution, "answer", "early")
				harness.Pending(t, b.engine, execution, abi.OpDeferred, "gate")
				resolve(t, b, execution, "gate", "open")
			},
		},
		{
			name: "resolved twice from outside", workflow: "AwaitLate", input: object{}, want: object{"value": "first"},
			drive: func(t *testing.T, b *testBundle, execution string) {
				resolve(t, b, execution, "answer", "first")
				for _, second := range []journal.Deferred{
					{Name: "answer", Value: harness.Encode(t, "second")},
					{Name: "answer", Error: &abi.Error{Message: "second"}},
				} {
					err := b.engine.Settle(t.Context(), "", execution, second)
					require.Equal(t, abi.CodeDeferredSettled, abi.CodeOf(err), "%v", err)
				}
				resolve(t, b, execution, "gate", "open")
			},
		},
		{
			name: "awaited by two", workflow: "AwaitTwice", input: object{}, want: []string{"both", "both"},
			drive: func(t *testing.T, b *testBundle, execution string) { resolve(t, b, execution, "answer", "both") },
		},
		{
			name: "resolved with another type", workflow: "AwaitNumber", input: object{}, want: object{"code": string(abi.CodeBadBody)},
			drive: func(t *testing.T, b *testBundle, execution string) { resolve(t, b, execution, "answer", "text") },
		},
		{
			name: "rejected with details", workflow: "Await", input: "x", want: object{"code": "CR-2014", "type": "denied", "text": "CR-2014: "},
			drive: func(t *testing.T, b *testBundle, execution string) {
				require.NoError(t, b.engine.Settle(t.Context(), "", execution, journal.Deferred{
					Name: "answer", Error: &abi.Error{Type: "denied", Details: harness.Encode(t, object{"why": "größe"})},
				}))
			},
		},
		{name: "resolved with nothing", workflow: "AwaitAnything", input: object{}, drive: resolvesWith(nil), after: yields(nil)},
		{name: "resolved with an empty text", workflow: "AwaitAnything", input: object{}, drive: resolvesWith(""), want: ""},
		{name: "resolved with much", workflow: "AwaitAnything", input: object{}, drive: resolvesWith(nested(20)), want: nested(20)},
		{name: "resolved with bytes", workflow: "AwaitAnything", input: object{}, drive: resolvesWith([]byte{0, 255}), want: []byte{0, 255}},
		{
			name: "resolved from inside", workflow: "ResolveOwn", input: false, want: []any{true, false, object{"value": "mine"}},
			journal: []string{"resolve answer", "resolve answer", "deferred answer"},
		},
		{
			name: "rejected from inside", workflow: "ResolveOwn", input: true,
			want: []any{true, false, object{"code": "CR-2014", "type": "no", "text": "CR-2014: rejected by itself"}},
		},
		{
			name: "resolved by another execution", workflow: "Await", needs: []string{"ResolveOther"}, input: "x", want: object{"value": "from afar"},
			drive: func(t *testing.T, b *testBundle, execution string) {
				row, _, err := b.engine.StartWorkflow(t.Context(), host.StartRequest{Workflow: "conformance/ResolveOther", Input: harness.Encode(t, execution)})
				require.NoError(t, err)
				other := harness.Wait(t, b.engine, row.Name())
				require.Equal(t, journal.Completed, other.State, "%v", other.Error)
				seen := harness.Decode[[]object](t, other.Value)
				require.Equal(t, object{"value": true}, seen[0])
				// The second is too late: the promise is settled, or the execution has ended.
				if code, failed := seen[1]["code"]; failed {
					require.Equal(t, string(abi.CodeAlreadyOver), code)
				} else {
					require.Equal(t, object{"value": false}, seen[1])
				}
			},
		},
		{
			name: "settled after the end", workflow: "Double", input: 1, want: 2,
			after: func(t *testing.T, b *testBundle, row *journal.Execution) {
				err := b.engine.Settle(t.Context(), "", row.Name(), journal.Deferred{Name: "answer", Value: harness.Encode(t, "late")})
				require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(err), "%v", err)
			},
		},
	}
}

func resolvesWith(value any) func(*testing.T, *testBundle, string) {
	return func(t *testing.T, b *testBundle, execution string) { resolve(t, b, execution, "answer", value) }
}

// yields checks for the one result that testCase.want cannot express: nil.
func yields(value any) func(*testing.T, *testBundle, *journal.Execution) {
	return func(t *testing.T, _ *testBundle, row *journal.Execution) { requireValue(t, value, row.Value) }
}
