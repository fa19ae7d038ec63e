package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/journal"
)

// largeResult is a store in which an execution has ended with a large result. It counts how many of its
// rows were read.
type largeResult struct {
	Store
	of journal.ID

	mu    sync.Mutex
	reads int // guarded by mu
}

func (s *largeResult) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	row, err := s.Store.Brief(ctx, id)
	if err == nil && id == s.of {
		row = s.enlarged(row).Brief()
	}
	return row, err
}

func (s *largeResult) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	row, err := s.Store.Load(ctx, id)
	if err == nil && id == s.of {
		row = s.enlarged(row)
	}
	return row, err
}

func (s *largeResult) FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	row, err := s.Store.FindRun(ctx, id, run)
	if err == nil && id == s.of {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reads++
		return s.enlarged(row), nil
	}
	return row, err
}

func (s *largeResult) enlarged(row *journal.Execution) *journal.Execution {
	whole := *row
	whole.Value = abi.MustMarshal(strings.Repeat("x", 1<<20))
	return &whole
}

// TestReadsOfLargeResultsAreBounded: an execution polls another one a thousand times, or calls it, and has few of its
// large results in hand at a time. All are delivered.
func TestReadsOfLargeResultsAreBounded(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"poll scripts/ended/child", "call ended"} {
		synctest.Test(t, func(t *testing.T) {
			const steps = 100
			f := newFixture(t)
			ended := rowOf("ended", "child")
			f.scripts["ended"] = []string{"done ok"}
			_, err := f.x.Starter.Start(t.Context(), ended, nil)
			require.NoError(t, err)
			synctest.Wait()
			store := &largeResult{Store: f.stored.Store, of: ended.ID}
			f.stored.Store = store
			actions := slices.Repeat([]string{action}, steps)
			f.scripts["w"] = append(
				[]string{strings.Join(actions, ";")}, append(slices.Repeat([]string{"park"}, steps-1), "done ok")...,
			)
			back, held := make(chan struct{}), false
			f.commits.seen = func(w journal.Write) {
				if len(w.Entries) > 0 && !held {
					held = true
					f.commits.mu.Unlock()
					<-back
					f.commits.mu.Lock()
				}
			}
			row := rowOf("w", "k")
			_, err = f.x.Starter.Start(t.Context(), row, nil)
			require.NoError(t, err)
			synctest.Wait()
			var inHand int64
			f.x.runs.Each(func(r *run) {
				inHand += r.tasks.UndeliveredBytes()
			})
			require.Greater(t, inHand, int64(task.MaxUndelivered))
			require.LessOrEqual(t, inHand, int64(task.MaxUndelivered+(task.MaxReading+1)*(1<<20+100)))
			close(back)
			synctest.Wait()
			entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{
				Entries: 2 * steps, Bytes: 1 << 30,
			})
			require.NoError(t, err)
			require.Len(t, entries, steps, action)
			for _, en := range entries {
				require.Greater(t, len(en.Value), 1<<20, fmt.Sprint(en.Seq))
			}
			require.Zero(t, f.x.shared.tasks.Waiting())
		})
	}
}
