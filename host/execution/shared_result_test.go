package execution

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// weighingCommitter notes how many bytes of results the largest write sends.
type weighingCommitter struct {
	Committer
	most atomic.Int64
}

func (c *weighingCommitter) Commit(w journal.Write) (journal.Result, error) {
	bytes := int64(0)
	for i := range w.Send {
		bytes += int64(len(w.Send[i].Value))
	}
	c.most.Store(max(c.most.Load(), bytes))
	return c.Committer.Commit(w)
}

// noCallees is a store that does not find the callees of steps.
type noCallees struct{ Store }

func (noCallees) Callee(context.Context, journal.Caller) (*journal.Execution, error) {
	return nil, errors.New("no connection")
}

// TestLargeResultOfManyCallers has many executions wait for one, whose result is large: the commit by which it ends
// does not have the result once for each of them, and all of them get it, also if the host ends before they have read
// it, and another run has the place of that one by then.
func TestLargeResultOfManyCallers(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		for _, crashes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/crashes=%v", kind, crashes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { shareResult(t, open(t), crashes) })
			})
		}
	}
}

func shareResult(t *testing.T, store journal.Store, crashes bool) {
	const callers, length = 40, 1 << 18
	f := newFixtureOn(t, store, nil, nil)
	weighing := &weighingCommitter{Committer: f.committer.Committer}
	f.committer.Committer = weighing
	f.scripts["slow"] = []string{"activity a", "done " + strings.Repeat("x", length)}
	f.scripts["w"] = []string{"call slow; sleep 1h", "done ok"}
	for i := range callers {
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", fmt.Sprint(i)), nil)
		require.NoError(t, err)
	}
	time.Sleep(time.Second)
	synctest.Wait()
	for i := range callers {
		if i%2 == 0 { // it is brought back
			require.True(t, f.x.evictor.evict(rowOf("w", fmt.Sprint(i)).ID))
		}
	}
	synctest.Wait()
	whole := f.stored.Store
	if crashes {
		f.stored.Store = noCallees{whole}
	}
	f.decide(1, "ok one")
	time.Sleep(time.Minute)
	synctest.Wait()
	require.Less(t, weighing.most.Load(), int64(maxShared+length))
	if crashes {
		require.Equal(t, "ok\n", f.startOver(rowOf("slow", "child")), "another run is not what they wait for")
		f.stored.Store = whole
		f.restart(0)
		time.Sleep(time.Minute)
		synctest.Wait()
	}
	for i := range callers {
		row, err := f.store.Brief(t.Context(), rowOf("w", fmt.Sprint(i)).ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, row.State)
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Greater(t, len(entries[0].Value), length)
		inbox, err := f.store.Inbox(t.Context(), row.Receiver(), 0)
		require.NoError(t, err)
		require.Empty(t, inbox)
	}
}
