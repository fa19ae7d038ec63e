package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/journal"
)

// bulky are activities with a large outcome, and failures as large.
type bulky struct{ ran atomic.Int64 }

const bulk = 128 << 10

func (b *bulky) Perform(_ context.Context, task activity.Task) activity.Report {
	if b.ran.Add(1)%2 == 0 {
		return activity.Failed{Err: &abi.Error{Message: strings.Repeat("x", bulk)}}
	}
	return activity.Done{Outcome: abi.Outcome{Value: abi.MustMarshal(make([]byte, bulk))}, Attempts: task.Failed + 1}
}

// TestOutcomesInHandAreBounded has an execution fan out while the store takes no writes. It has a bounded number of
// bytes in hand, others go on, and when the store is back all of it is delivered.
func TestOutcomesInHandAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const steps, places = 160, 100
		var fanned, others bulky
		f := newFixture(t)
		byWorkflow := performFunc(func(ctx context.Context, task activity.Task) activity.Report {
			if task.Row.Workflow == "scripts/other" {
				return others.Perform(ctx, task)
			}
			return fanned.Perform(ctx, task)
		})
		f.x.shared.tasks.Activities = byWorkflow
		var issued []string
		for n := range steps {
			issued = append(issued, fmt.Sprintf("activity a%d", n))
		}
		f.scripts["w"] = append([]string{strings.Join(issued, ";")}, slices.Repeat([]string{"park"}, steps)...)
		f.scripts["other"] = []string{"activity a", "done ok"}
		back := make(chan struct{})
		f.commits.seen = func(w journal.Write) {
			if len(w.Entries) > 0 {
				f.commits.mu.Unlock()
				<-back
				f.commits.mu.Lock()
			}
		}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.LessOrEqual(t, fanned.ran.Load(), int64(task.MaxUndelivered/bulk+1+places))
		require.Greater(t, fanned.ran.Load(), int64(task.MaxUndelivered/bulk))

		_, err = f.x.Starter.Start(t.Context(), rowOf("other", "k"), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.EqualValues(t, 1, others.ran.Load(), "others have places")

		close(back)
		synctest.Wait()
		require.EqualValues(t, steps, fanned.ran.Load())
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{
			Entries: 2 * steps, Bytes: 1 << 30,
		})
		require.NoError(t, err)
		require.Len(t, entries, steps, "all are delivered")
		require.Zero(t, f.x.shared.tasks.Waiting())
	})
}

// TestOutcomesOfAllRunsAreBounded has many executions receive outcomes while the store takes no writes. Together they
// have a bounded number of bytes in hand, though none has much. When the store is back all of it is delivered, and
// nothing is counted any more.
func TestOutcomesOfAllRunsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const runs, steps, places, limit = 50, 4, 100, 10 * bulk
		var ran bulky
		f := newFixture(t)
		f.activities, f.maxOutcomes = &ran, limit
		f.reboot()
		f.scripts["w"] = append(
			[]string{"activity a;activity b;activity c;activity d"}, slices.Repeat([]string{"park"}, steps-1)...,
		)
		back := make(chan struct{})
		f.commits.seen = func(w journal.Write) {
			if len(w.Entries) > 0 {
				f.commits.mu.Unlock()
				<-back
				f.commits.mu.Lock()
			}
		}
		for n := range runs {
			_, err := f.x.Starter.Start(t.Context(), rowOf("w", fmt.Sprint(n)), nil)
			require.NoError(t, err)
		}
		synctest.Wait()
		require.Greater(t, ran.ran.Load(), int64(limit/bulk))
		require.LessOrEqual(t, ran.ran.Load(), int64(limit/bulk+1+places))
		require.Less(t, ran.ran.Load(), int64(runs*steps))
		require.Greater(t, f.x.OutcomeBytes(), int64(limit))
		require.Positive(t, f.x.shared.tasks.Waiting())

		close(back)
		synctest.Wait()
		require.EqualValues(t, runs*steps, ran.ran.Load())
		require.Zero(t, f.x.shared.tasks.Waiting())
		require.Zero(t, f.x.OutcomeBytes())
	})
}

// performFunc is a function that performs attempts.
type performFunc func(ctx context.Context, task activity.Task) activity.Report

func (p performFunc) Perform(ctx context.Context, task activity.Task) activity.Report {
	return p(ctx, task)
}
