package execution

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/journal"
)

// plannedAttempts says what becomes of each attempt: it is lost with its host, it fails, or it succeeds.
type plannedAttempts struct {
	plan  []string
	begun atomic.Int64
}

// Perform implements Activities.
func (a *plannedAttempts) Perform(ctx context.Context, task activity.Task) activity.Report {
	if !task.Begin(ctx) {
		return nil
	}
	switch a.plan[min(int(a.begun.Add(1)), len(a.plan))-1] {
	case "lost":
		<-ctx.Done()
		return nil
	case "fails":
		return activity.Failed{Err: &abi.Error{Code: abi.CodeActivityFailed, Message: "not now", Retryable: true}}
	default:
		return activity.Done{Outcome: abi.Outcome{Value: abi.Nil}, Attempts: 1}
	}
}

// TestLossesAreCountedAfterAFailure: an attempt that failed has come back. Losses before it do not
// count any more, for a run that is replayed, that is restored, and that was told to stop.
func TestLossesAreCountedAfterAFailure(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"Replayed", "Restored", "ToldToStop"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				attempts := &plannedAttempts{plan: []string{"lost", "lost", "fails", "lost", "lost", "done"}}
				retried := &abi.Activity{
					Name: "x", Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second), Retries: 1000},
				}
				var naps []step
				for range 100 {
					naps = append(naps, step{{abi.OpSleep, abi.MustMarshal(&abi.Sleep{Duration: int64(time.Minute)})}})
				}
				w := &world{
					code:  threads{{step{{abi.OpActivity, abi.MustMarshal(retried)}}}, naps},
					begun: map[journal.Caller]int{},
				}
				w.f = newFixtureOf(t, w.open, attempts)
				if way == "Restored" {
					w.f.hibernation.Entries = 0
				}
				w.f.restart(0)
				row := rowOf("w", "k")
				_, err := w.f.x.Starter.Start(t.Context(), row, nil)
				require.NoError(t, err)
				for range 2 {
					time.Sleep(time.Minute + time.Second)
					w.f.restart(time.Second)
				}
				time.Sleep(10 * time.Minute)
				require.EqualValues(t, 4, attempts.begun.Load(), "two were lost, one has failed, the next is under way")
				if way == "Restored" {
					require.True(t, w.f.x.evictor.evict(row.ID))
					synctest.Wait()
				}
				if way == "ToldToStop" {
					w.f.x.ReleaseAttempts(t.Context())
					w.f.restart(time.Second)
					time.Sleep(time.Minute)
				}
				w.f.restart(time.Second) // it is lost: the first one since the failure
				time.Sleep(10 * time.Minute)
				got, err := w.f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				require.Equal(t, journal.Running, got.State, "%v", got.Error)
				require.Equal(t, way == "Restored", w.restored > 0, fmt.Sprint(w.restored))
			})
		})
	}
}
