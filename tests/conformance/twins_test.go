package conformance

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/tests/conformance/table"
)

// onlyIn are the workflows that make sense in one language only.
var onlyIn = map[string][]string{"go": {"Channels", "Shared"}, "rust": {"Futures", "OnInterrupt"}}

// TestTwins compares the module in Rust with the same module in Go: the manifests are equal, and the same start has the
// same name, result and journal.
func TestTwins(t *testing.T) {
	t.Parallel()
	var twins []*testBundle
	for _, l := range wholeLanguages() {
		twins = append(twins, setup(t, l, "sqlite", nil))
	}
	t.Run("manifest", func(t *testing.T) {
		t.Parallel()
		first := shape(twins[0].manifest, "go")
		second := shape(twins[1].manifest, "rust")
		require.Equal(t, "go/0.1.0", twins[0].manifest.SDK)
		require.Equal(t, "rust/0.1.0", twins[1].manifest.SDK)
		require.Equal(t, names(first), names(second))
		for i := range first.Workflows {
			require.Equal(t, first.Workflows[i], second.Workflows[i])
		}
		for i := range first.Activities {
			require.Equal(t, first.Activities[i], second.Activities[i])
		}
		require.Len(t, first.Entities, 2)
		require.Equal(t, first.Entities, second.Entities)
		require.Equal(t, first.Migrations, second.Migrations)
	})
	request := harness.Encode(t, object{"id": "order 7", "other": 1})
	for name, req := range map[string]host.StartRequest{
		"key of the request":            {Workflow: "Sequence", Input: harness.Encode(t, 5)},
		"key of a request of all kinds": {Workflow: "EchoTyped", Input: inputOf("typed, nil and absent")},
		"key of nothing":                {Workflow: "First", Input: harness.Encode(t, object{})},
		"key of a function, hashed":     {Workflow: "HashedKey", Input: request},
		"key of a function, raw":        {Workflow: "RawKey", Input: request},
		"given key, hashed": {
			Workflow: "Call", Input: harness.Encode(t, 4), Key: "k", KeyMode: abi.KeyHashed,
		},
		"given key, raw": {
			Workflow: "CallKeys", Input: harness.Encode(t, "fixed"), Key: "k/with/slashes", KeyMode: abi.KeyRaw,
		},
		"SQL":     {Workflow: "Count", Input: harness.Encode(t, object{"name": "twins"})},
		"retries": {Workflow: "Retry", Input: harness.Encode(t, object{"failures": 2, "retries": 3})},
		"failure": {Workflow: "Decline", Input: harness.Encode(t, "no money")},
		"failure of a child": {
			Workflow: "Rethrow", Input: harness.Encode(t, object{"from": "child", "words": "order 7"}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req.Workflow = "conformance/" + req.Workflow
			var lines []ledgerLine
			for _, b := range twins {
				row, _, err := b.engine.Launcher().Start(t.Context(), req)
				require.NoError(t, err)
				lines = append(lines, inLedger(t, b, harness.Wait(t, b.engine, row.Name())))
			}
			require.True(t, lines[0].State == journal.Completed || lines[0].State == journal.Failed)
			require.Equal(t, lines[0], lines[1])
		})
	}
}

// TestMoveBetweenLanguages: an execution goes on in the module of another language, and comes
// back, also if its steps have no arguments: both SDKs send the same for nothing.
func TestMoveBetweenLanguages(t *testing.T) {
	t.Parallel()
	both := wholeLanguages()
	for i, from := range both {
		to := both[len(both)-1-i]
		t.Run(from.name+" to "+to.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, from, "sqlite", nil)
			var executions []string
			for _, id := range []string{"there", "there and back"} {
				execution := harness.Start(t, b.engine, "conformance/Bare", id)
				harness.Pending(t, b.engine, execution, abi.OpDeferred, "gate")
				executions = append(executions, execution)
			}
			deploy(t, b.engine, to, nil)
			move(t, b, executions...)
			deploy(t, b.engine, from, nil)
			move(t, b, executions[1])
			for _, execution := range executions {
				require.NoError(
					t,
					b.engine.Executions().Settle(t.Context(), "", execution, journal.Deferred{
						Name: "gate", Value: harness.Encode(t, "open"),
					}),
				)
				row := harness.Wait(t, b.engine, execution)
				require.Equal(t, journal.Completed, row.State, "%v", row.Error)
				require.Len(t, harness.Decode[[]object](t, row.Value), 12)
			}
		})
	}
}

// TestSettlementsBetweenModules: a workflow settles promises of another that still runs the module of another language.
// A value that does not fit that module's types settles nothing.
func TestSettlementsBetweenModules(t *testing.T) {
	t.Parallel()
	both := wholeLanguages()
	for i, to := range both {
		from := both[len(both)-1-i]
		t.Run(from.name+" to "+to.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, to, "sqlite", nil)
			execution := harness.Start(t, b.engine, "conformance/AwaitTyped", "bob")
			harness.Pending(t, b.engine, execution, abi.OpDeferred, "decision")
			deploy(t, b.engine, from, nil)
			row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/ResolveTyped", execution))
			var got []any
			for _, seen := range harness.Decode[[]object](t, row.Value) {
				got = append(got, cmp.Or(seen["code"], seen["value"]))
			}
			require.Equal(t, []any{"CR-2043", "CR-2043", "CR-2002", "CR-2002", "CR-2002", true, true}, got)
			row = harness.Wait(t, b.engine, execution)
			require.Equal(
				t, []object{{"approved": true}, {"approved": false, "note": "no"}},
				harness.Decode[[]object](t, row.Value),
			)
		})
	}
}

func move(t *testing.T, b *testBundle, executions ...string) {
	t.Helper()
	for _, execution := range executions {
		_, err := b.engine.Executions().Move(t.Context(), "", execution, host.Latest)
		require.NoError(t, err)
	}
}

// shape is the part of a manifest that must be the same in every language.
func shape(m *abi.Manifest, language string) abi.Manifest {
	out := *m
	out.SDK = ""
	out.Workflows = slices.DeleteFunc(slices.Clone(m.Workflows), func(w abi.WorkflowInfo) bool {
		return slices.Contains(onlyIn[language], w.Name)
	})
	return out
}

func names(m abi.Manifest) (all []string) {
	for _, w := range m.Workflows {
		all = append(all, "workflow "+w.Name)
	}
	for _, a := range m.Activities {
		all = append(all, "activity "+a.Name)
	}
	return all
}

// inputOf is the request of a case.
func inputOf(name string) []byte {
	all := allCases()
	i := slices.IndexFunc(all, func(c testCase) bool { return c.Name == name })
	return all[i].Input.Encode(table.Places{})
}
