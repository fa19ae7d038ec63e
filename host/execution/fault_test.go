package execution

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// TestFaultsBringTheirBundle panics while an execution is worked on. The data of a bug report is
// kept with the execution.
func TestFaultsBringTheirBundle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.panicAt = faultpoint.TurnBeforeCommit
		require.NoError(
			t, f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{Name: "d", Value: abi.Nil}),
		)
		synctest.Wait()
		paused, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, abi.CodeHostFault, paused.Error.Code)
		var b faultBundle
		require.NoError(t, abi.Unmarshal(paused.Error.Details, &b))
		require.Contains(t, b.Stack, "(*run).commitPerformed")
		require.Equal(t, "script", b.Digest)
		require.NotEmpty(t, b.Go)
		require.LessOrEqual(t, len(paused.Error.Details), 2*maxFaultStack)
	})
}
