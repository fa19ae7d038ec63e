package execution

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// slowReads takes a while for reads, and counts those of rows.
type slowReads struct {
	Store
	loads atomic.Int64
}

func (s *slowReads) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	s.loads.Add(1)
	time.Sleep(time.Millisecond)
	return s.Store.Brief(ctx, id)
}

func (s *slowReads) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	time.Sleep(time.Millisecond)
	return s.Store.Inbox(ctx, to, after)
}

// TestCircleComesToRest has two executions that wait for each other end. Each is told of the end of the other, and none
// tells it again.
func TestCircleComesToRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := rowOf("w", "k")
		slow := &slowReads{Store: f.stored.Store}
		f.stored.Store = slow
		f.setScript([]string{"name=ping"}, "call pong cancel\ndone ping")
		f.setScript([]string{"name=pong"}, "interrupted; call ping cancel\nstop")
		f.setScript(nil, "interrupt scripts/pong/child enough\ndone ok")
		f.command(row, "start-child", []string{"ping"}, "")
		time.Sleep(time.Minute)
		f.command(row, "start", nil, "")
		time.Sleep(time.Minute)
		for _, name := range []string{"ping", "pong"} {
			over, err := f.store.Load(t.Context(), rowOf(name, "child").ID)
			require.NoError(t, err)
			require.True(t, over.State.Final(), name)
		}
		before := slow.loads.Load()
		time.Sleep(time.Minute)
		require.Equal(t, before, slow.loads.Load(), "nothing is left to tell")
	})
}

// TestUnheardTerminateIsToldToCallers ends a callee by a commit whose answer is lost, and cannot load it then. Its
// caller, which is in memory, learns of the end.
func TestUnheardTerminateIsToldToCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row, callee := rowOf("w", "k"), rowOf("c", "child")
		f.setScript([]string{"name=c"}, "sleep 1h\ndone c")
		f.setScript(nil, "call c\ndone ok")
		f.command(row, "start", nil, "")
		f.x.evictor.evict(callee.ID)
		synctest.Wait()
		require.False(t, f.x.InMemory(callee.ID))
		require.True(t, f.x.InMemory(row.ID))
		f.command(row, "store", []string{"drop", "lose"}, "")
		f.command(row, "loads-fail", []string{"1"}, "")
		_ = f.x.Stops.Terminate(t.Context(), request.Ref{ID: callee.ID, Name: callee.Name()}, "enough") // in doubt
		over, err := f.x.Ends.Wait(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.Equal(t, journal.Completed, over.State)
	})
}
