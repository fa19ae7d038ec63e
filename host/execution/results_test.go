package execution

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// slowReads takes a while for reads, and counts those of rows.
type slowReads struct {
	Store
	loads atomic.Int64
}

func (s *slowReads) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	s.loads.Add(1)
	time.Sleep(time.Millisecond)
	return s.Store.Load(ctx, id)
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
		slow := &slowReads{Store: f.x.Store}
		f.x.Store = slow
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
