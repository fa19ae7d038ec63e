package execution

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestGivenUpBehindOthers has more steps be given up whose callees cannot be looked for than are worked off at once. One
// behind them is stopped all the same.
func TestGivenUpBehindOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["child"] = []string{"interrupted; sleep 1h", "stop"}
		caller := journal.Caller{ID: journal.ID{9}, Run: journal.NewRunID(), Step: journal.StepID{1}}
		child := rowOf("child", "c")
		child.Parent, child.Pinned.OnCancel = caller, abi.OnCancelCancel
		_, err := f.x.Start(t.Context(), child, nil)
		require.NoError(t, err)
		for i := range 2 * givenUpAtOnce {
			stuck := journal.Caller{ID: journal.ID{8, byte(i)}, Run: journal.NewRunID(), Step: journal.StepID{1}}
			defer f.x.starts.begin(stuck)()
			f.x.settleGivenUp(journal.GivenUp{ID: stuck.ID, Run: stuck.Run, GiveUp: journal.GiveUp{Step: stuck.Step}})
		}
		f.x.settleGivenUp(journal.GivenUp{ID: caller.ID, Run: caller.Run, GiveUp: journal.GiveUp{Step: caller.Step, Reason: "enough"}})
		row, err := f.x.Wait(t.Context(), RefTo(child))
		require.NoError(t, err)
		require.Equal(t, journal.Interrupted, row.State)
	})
}
