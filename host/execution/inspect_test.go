package execution

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/execution/request"
)

// TestInspectDoesNotWaitForATurn asks a run whose code computes for long, and once it is parked.
func TestInspectDoesNotWaitForATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1h", "done ok"}
		may := f.slowFirstTurns()
		row := rowOf("w", "k")
		begun := time.Now()
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		in, err := f.x.Inspector.Inspect(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.Len(t, in.Pending, 1)
		require.Equal(t, KindTurn, in.Pending[0].Kind)
		require.True(t, in.Pending[0].Since.Equal(begun))
		require.Equal(t, inspectPatience, time.Since(begun))

		close(may)
		synctest.Wait()
		in, err = f.x.Inspector.Inspect(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.Len(t, in.Pending, 1)
		require.Equal(t, "sleep", in.Pending[0].Kind)
	})
}
