package host_test

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestDescribeNamesParentsAndChildren describes both sides of a call.
func TestDescribeNamesParentsAndChildren(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		child, parent := pausedChild(t, e)

		d, err := e.Observer().Describe(t.Context(), "", parent)
		require.NoError(t, err)
		require.Empty(t, d.Circle)
		require.Empty(t, d.ParentName)
		calls := 0
		for _, op := range d.Pending {
			if op.Kind != abi.OpCall {
				require.Empty(t, op.Callee)
				continue
			}
			calls++
			require.Equal(t, child, op.Callee)
			require.Equal(t, journal.Paused, op.State)
		}
		require.Equal(t, 1, calls)

		d, err = e.Observer().Describe(t.Context(), "", child)
		require.NoError(t, err)
		require.Equal(t, parent, d.ParentName)
	})
}

// movingStore is a store whose whole rows are gone when they are read, a few times.
type movingStore struct {
	journal.Store
	gone atomic.Int64
}

func (s *movingStore) FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	if s.gone.Add(-1) >= 0 {
		return nil, journal.ErrNotFound
	}
	return s.Store.FindRun(ctx, id, run)
}

// TestDescribeWhatMovesOn: an execution that continues as another run while it is described is looked at again, by its
// name and by the id of its chain, and not for ever.
func TestDescribeWhatMovesOn(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		moving := &movingStore{Store: store}
		e := harness.Engine(t, moving)
		program := wasmtest.Program{
			Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}},
			Outcome:  &abi.Outcome{Value: abi.Nil},
		}
		_, err := e.Deployments().Push(t.Context(), host.PushRequest{Name: "over", Binary: program.Assemble()})
		require.NoError(t, err)
		row, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
			Workflow: "over/W", Key: "k", KeyMode: abi.KeyRaw, Input: abi.MustMarshal(strings.Repeat("x", 1<<20)),
		})
		require.NoError(t, err)
		harness.Wait(t, e, row.Name())
		for _, run := range []string{"", row.Chain.String()} {
			moving.gone.Store(2)
			d, err := e.Observer().DescribeRun(t.Context(), "", row.Name(), run)
			require.NoError(t, err)
			require.Equal(t, row.Run, d.Run)
			require.Greater(t, len(d.Input), 1<<20)
		}
		moving.gone.Store(math.MaxInt64)
		_, err = e.Observer().Describe(t.Context(), "", row.Name())
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
	})
}

// TestDescribeFindsCircles has two executions call each other.
func TestDescribeFindsCircles(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e := harness.Engine(t, store)
		for deployment, other := range map[string]string{"ping": "pong", "pong": "ping"} {
			call := abi.Call{Workflow: other + "/W", Input: abi.Nil, Key: "k", KeyMode: abi.KeyRaw}
			program := wasmtest.Program{
				Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}},
				Calls:    []wasmtest.ImportCall{{Import: abi.OpCall, Body: abi.MustMarshal(&call)}},
			}
			_, err := e.Deployments().Push(t.Context(), host.PushRequest{Name: deployment, Binary: program.Assemble()})
			require.NoError(t, err)
		}
		_, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
			Workflow: "ping/W", Key: "k", KeyMode: abi.KeyRaw,
		})
		require.NoError(t, err)

		circle := func(execution string) (found []string) {
			harness.Eventually(t, "both wait", func() bool {
				d, err := e.Observer().Describe(t.Context(), "", execution)
				if err == nil {
					found = d.Circle
				}
				return len(found) > 0
			})
			return found
		}
		require.Equal(t, []string{"ping/W/k", "pong/W/k"}, circle("ping/W/k"))
		require.Equal(t, []string{"pong/W/k", "ping/W/k"}, circle("pong/W/k"))
	})
}
