package upgrade_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// report is the result of the workflow of tests/guests/change.
type report struct {
	Keys     map[string]string `msgpack:"keys"`
	Steps    []string          `msgpack:"steps"`
	UUID     string            `msgpack:"uuid"`
	Reminder string            `msgpack:"reminder"`
}

// atGate starts an order and waits until it waits for its gate.
func atGate(t *testing.T, e *host.Engine, order string) string {
	t.Helper()
	execution := harness.Start(t, e, "change/Order", order)
	harness.Pending(t, e, execution, abi.OpDeferred, "gate")
	return execution
}

func openGate(t *testing.T, e *host.Engine, execution string) report {
	t.Helper()
	require.NoError(
		t,
		e.Executions().Settle(t.Context(), "", execution, journal.Deferred{
			Name: "gate", Value: harness.Encode(t, true),
		}),
	)
	row := harness.Wait(t, e, execution)
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	return harness.Decode[report](t, row.Value)
}

// effects lists the steps of an order that left a row, sorted.
func effects(t *testing.T, e *host.Engine, order string) []string {
	t.Helper()
	return harness.Execute[[]string](t, e, "change/Effects", order)
}

// TestMoveToFittingCode moves executions whose steps have run to code that has one more, or has them in another order.
// Nothing that has run is repeated, keys and random numbers stay as they are, and a restart in between changes nothing.
func TestMoveToFittingCode(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][]string{
		"inserted":  {"reserve", "audit", "charge", "ship"},
		"reordered": {"charge", "reserve", "ship"},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, store journal.Store, g guest) {
				e := harness.Engine(t, store)
				g.push(t, e, "base")
				plain, moved := atGate(t, e, "plain"), atGate(t, e, "moved")
				g.push(t, e, version)
				row, err := e.Executions().Move(t.Context(), "", moved, host.Latest)
				require.NoError(t, err)
				require.Equal(t, journal.Running, row.State)
				harness.Pending(t, e, moved, abi.OpDeferred, "gate")
				require.NoError(t, e.Stop(context.Background()))

				second := harness.Engine(t, store)
				got := openGate(t, second, moved)
				require.Equal(t, want, got.Steps)
				require.Len(t, effects(t, second, "moved"), len(want), "each step took effect once")
				old := openGate(t, second, plain)
				require.Equal(t, []string{"reserve", "charge", "ship"}, old.Steps)
				require.Len(t, effects(t, second, "plain"), 3)
			}, version)
		})
	}
}

// TestInsertedStepsShiftNoNames compares two runs of one order from the same point: one is moved to code with a
// step more and the other is not. The keys of the steps that both have are the same function of the run.
func TestInsertedStepsShiftNoNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store journal.Store, g guest) {
		e := harness.Engine(t, store)
		g.push(t, e, "base")
		execution := atGate(t, e, "order")
		before, _, err := e.Observer().History(t.Context(), "", execution, 0, 100)
		require.NoError(t, err)
		g.push(t, e, "inserted")
		row, err := e.Executions().Move(t.Context(), "", execution, host.Latest)
		require.NoError(t, err)
		got := openGate(t, e, execution)
		after, _, err := e.Observer().History(t.Context(), "", execution, 0, 100)
		require.NoError(t, err)
		require.Equal(t, before, after[:len(before)], "what was written stays")
		require.Equal(t, journal.Moved, after[len(before)].Kind)
		for _, en := range after {
			if en.Op.Kind == abi.OpActivity {
				require.Equal(t, fmt.Sprintf("%s-%s", row.Run, en.Op.Step()), got.Keys[en.Op.Name], en.Op.Name)
			}
		}
	}, "inserted")
}

// TestMoveToCodeThatDoesNotFit is refused, with both sides shown, and changes nothing.
func TestMoveToCodeThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for version, shows := range map[string][]string{
		"removed":   {"does not come to a step that has run", `activity "charge"`},
		"arguments": {`activity "charge" has run with other arguments`, `activity "charge"`},
		"renamed":   {`activity "charge" has run, and the module has no activity of that name`, `activity "take"`},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, store journal.Store, g guest) {
				e := harness.Engine(t, store)
				g.push(t, e, "base")
				execution := atGate(t, e, "order")
				before, err := e.Observer().Poll(t.Context(), "", execution)
				require.NoError(t, err)
				history, _, err := e.Observer().History(t.Context(), "", execution, 0, 100)
				require.NoError(t, err)
				g.push(t, e, version)
				_, err = e.Executions().Move(t.Context(), "", execution, host.Latest)
				require.Equal(t, abi.CodeDoesNotFit, abi.CodeOf(err), "%v", err)
				for _, text := range shows {
					require.ErrorContains(t, err, text)
				}
				after, err := e.Observer().Poll(t.Context(), "", execution)
				require.NoError(t, err)
				require.Equal(t, before, after)
				again, _, err := e.Observer().History(t.Context(), "", execution, 0, 100)
				require.NoError(t, err)
				require.Equal(t, history, again)
				require.Equal(t, []string{"reserve", "charge", "ship"}, openGate(t, e, execution).Steps)
			}, version)
		})
	}
}

// TestMoveRescues lets an execution crash until it is paused, and moves it to code without the bug.
func TestMoveRescues(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		g := inGo
		e := harness.Engine(t, store)
		g.push(t, e, "buggy")
		execution := atGate(t, e, "order")
		require.NoError(
			t,
			e.Executions().Settle(t.Context(), "", execution, journal.Deferred{
				Name: "gate", Value: harness.Encode(t, true),
			}),
		)
		require.Equal(t, journal.Paused, harness.Wait(t, e, execution).State)
		_, err := e.Executions().Move(t.Context(), "", execution, host.Latest)
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), "it is the same module")
		g.push(t, e, "base")
		fixed, err := e.Deployments().Describe(t.Context(), "", "change")
		require.NoError(t, err)
		_, err = e.Executions().Move(t.Context(), "", execution, fixed.Digest[:12])
		require.NoError(t, err, "as tables show it")
		row := harness.Wait(t, e, execution)
		require.Equal(t, journal.Completed, row.State, "%v", row.Error)
		require.Equal(t, []string{"reserve", "charge", "ship"}, harness.Decode[report](t, row.Value).Steps)
		require.Equal(t, []string{"charge", "reserve", "ship"}, effects(t, e, "order"))
		for name, err := range map[string]error{
			"over":    second(e.Executions().Move(t.Context(), "", execution, host.Latest)),
			"missing": second(e.Executions().Move(t.Context(), "", "change/Order/none", host.Latest)),
			"module":  second(e.Executions().Move(t.Context(), "", atGate(t, e, "other"), "sha256:00")),
			"prefix":  second(e.Executions().Move(t.Context(), "", "change/Order/other", "0123456789ab")),
			"nowhere": second(e.Executions().Move(t.Context(), "", "change/Order/other", "")),
		} {
			require.Error(t, err, name)
			require.NotEmpty(t, abi.CodeOf(err), name)
		}
	})
}

func second[A any](_ A, err error) error { return err }

// TestFork takes over the beginning of a journal: its effects are not repeated, and the rest is a run of its own.
func TestFork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store journal.Store, g guest) {
		e := harness.Engine(t, store)
		g.push(t, e, "base")
		source := atGate(t, e, "order")
		original := openGate(t, e, source)
		history, _, err := e.Observer().History(t.Context(), "", source, 0, 100)
		require.NoError(t, err)
		var charged, gate uint64
		for _, en := range history {
			switch en.Op.Name {
			case "charge":
				charged = en.Seq
			case "gate":
				gate = en.Seq
			}
		}
		require.NotZero(t, charged)
		require.NotZero(t, gate)

		fork, err := e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{At: charged})
		require.NoError(t, err)
		require.NotEqual(t, source, fork.Name())
		harness.Pending(t, e, fork.Name(), abi.OpDeferred, "gate")
		require.NoError(t, e.Stop(context.Background()))
		e = harness.Engine(t, store)
		got := openGate(t, e, fork.Name())
		require.Equal(t, original.Steps, got.Steps)
		require.Equal(t, original.UUID, got.UUID, "drawn before the fork")
		require.Equal(t, original.Keys["charge"], got.Keys["charge"], "taken over")
		require.NotEqual(t, original.Keys["ship"], got.Keys["ship"], "a step of its own")
		require.Equal(t, []string{"charge", "reserve", "ship", "ship"}, effects(t, e, "order"))

		// The gate was opened by then: the fork finds it so.
		opened, err := e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{At: gate})
		require.NoError(t, err)
		require.Equal(t, original.Steps, harness.Decode[report](t, harness.Wait(t, e, opened.Name()).Value).Steps)
		before, err := e.Observer().Describe(t.Context(), "", source)
		require.NoError(t, err)
		require.Len(t, before.Deferreds, 1)
		after, err := e.Observer().Describe(t.Context(), "", opened.Name())
		require.NoError(t, err)
		before.Deferreds[0].Position = after.Deferreds[0].Position // in another inbox
		require.Equal(t, before.Deferreds, after.Deferreds)

		same, err := e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{At: charged, Key: "again"})
		require.NoError(t, err)
		require.Equal(t, "change/Order/again", same.Name())
		for name, err := range map[string]error{
			"a key that is taken": second(e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{
				At: charged, Key: "again",
			})),
			"beyond the end": second(e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{At: 1000})),
			"a key that is no key": second(e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{
				At: charged, Key: "\xff",
			})),
		} {
			require.Error(t, err, name)
			require.NotEmpty(t, abi.CodeOf(err), name)
		}
	})
}

// TestForkToOtherCode is a fork with a fix.
func TestForkToOtherCode(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store journal.Store, g guest) {
		e := harness.Engine(t, store)
		g.push(t, e, "base")
		source := atGate(t, e, "order")
		g.push(t, e, "removed")
		_, err := e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{At: 2, To: host.Latest})
		require.Equal(t, abi.CodeDoesNotFit, abi.CodeOf(err), "charge has run by then: %v", err)
		fork, err := e.Launcher().Fork(t.Context(), "", source, host.ForkRequest{At: 1, To: host.Latest})
		require.NoError(t, err)
		require.Equal(t, []string{"reserve", "ship"}, openGate(t, e, fork.Name()).Steps)
	}, "removed")
}

// TestCheck replays all open executions on other modules, and changes nothing.
func TestCheck(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store journal.Store, g guest) {
		e := harness.Engine(t, store)
		g.push(t, e, "base")
		const n = 12
		for i := range n {
			atGate(t, e, fmt.Sprint(i))
		}
		openGate(t, e, "change/Order/0")
		check := func(version string) (fits int, reasons map[string]int) {
			reasons = map[string]int{}
			last := 0
			open, err := e.Observer().List(t.Context(), journal.Filter{
				Workflow: "change/", State: journal.Running, Limit: n,
			})
			require.NoError(t, err)
			require.NoError(
				t,
				e.Deployments().Check(
					t.Context(),
					host.CheckRequest{Name: "change", Binary: harness.Module(t, g.folder(version))},
					func(r host.CheckResult, done, total int) error {
						require.Equal(t, n-1, total)
						require.Greater(t, done, last)
						last = done
						require.Equal(
							t, open.Executions[done-1].Name(), r.Execution.Name(), "the order is that of a list",
						)
						if r.Fits {
							fits++
						} else {
							reasons[r.Reason]++
							require.NotNil(t, r.Diff)
							require.Contains(t, r.Diff.String(), "charge")
						}
						return nil
					},
				),
			)
			return fits, reasons
		}
		before, _, err := e.Observer().History(t.Context(), "", "change/Order/1", 0, 100)
		require.NoError(t, err)
		fits, reasons := check("inserted")
		require.Equal(t, n-1, fits)
		require.Empty(t, reasons)
		fits, reasons = check("removed")
		require.Zero(t, fits)
		require.Equal(t, map[string]int{"the code does not come to a step that has run": n - 1}, reasons)
		after, _, err := e.Observer().History(t.Context(), "", "change/Order/1", 0, 100)
		require.NoError(t, err)
		require.Equal(t, before, after)
		deployed, err := e.Deployments().Describe(t.Context(), "", "change")
		require.NoError(t, err)
		require.EqualValues(t, 1, deployed.Version)
	}, "inserted", "removed")
}
