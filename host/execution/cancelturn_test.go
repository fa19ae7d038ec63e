package execution

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// endlessLater computes in later turns until it is stopped.
type endlessLater struct {
	Guest
	turns *atomic.Int32
}

func (g endlessLater) Resume(ctx context.Context, _ abi.Resume) (guest.Turn, error) {
	g.turns.Add(1)
	<-ctx.Done()
	return guest.Turn{}, ctx.Err()
}

// endlessLater has guests compute in later turns. It returns how many of these were begun.
func (f *fixture) endlessLater() *atomic.Int32 {
	turns := &atomic.Int32{}
	f.guestsAre(func(g Guest) Guest { return endlessLater{g, turns} })
	return turns
}

// reboot has the host end and another one begin.
func (f *fixture) reboot() {
	f.end()
	synctest.Wait()
	f.takeNotes()
	f.boot()
}

// nextCommits decides what becomes of commits.
func (f *fixture) nextCommits(what ...string) {
	f.commits.mu.Lock()
	defer f.commits.mu.Unlock()
	f.commits.next = what
}

// TestTerminateBreaksOffATurn ends an execution whose code never returns: in a turn ahead of its start, in its first
// turn, in a later one, and when it is loaded. It waits for none of them. Nothing is left undone if the answer to the
// commit is lost.
func TestTerminateBreaksOffATurn(t *testing.T) {
	t.Parallel()
	for where, begin := range map[string]func(f *fixture) *atomic.Int32{
		"ahead of its start": func(f *fixture) *atomic.Int32 { return f.endless() },
		"in its first turn": func(f *fixture) *atomic.Int32 {
			f.x.NoHeadStarts = true
			return f.endless()
		},
		"in a later turn": func(f *fixture) *atomic.Int32 {
			f.scripts["w"] = []string{"sleep 1s", "done ok"}
			return f.endlessLater()
		},
		"while it is loaded": func(f *fixture) *atomic.Int32 { return f.endless() },
	} {
		for _, answer := range []string{"ok", "lose"} {
			t.Run(where+", "+answer, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					turns := begin(f)
					row := rowOf("w", "k")
					_, err := f.x.Starter.Start(t.Context(), row, nil)
					require.NoError(t, err)
					time.Sleep(2 * time.Second)
					synctest.Wait()
					require.EqualValues(t, 1, turns.Load())
					if where == "while it is loaded" {
						f.reboot()
						turns = f.endless()
						f.x.EnsureInMemory(row.ID)
						synctest.Wait()
						require.EqualValues(t, 1, turns.Load())
					}
					crashes := f.countCrashes()
					begun := time.Now()
					f.nextCommits(answer)
					require.NoError(t, f.x.Stops.Terminate(t.Context(), request.RefTo(row), "enough"))
					require.Less(
						t, time.Since(begun), turnTimeout, "it does not wait for the time that a turn may take",
					)
					time.Sleep(time.Minute)
					synctest.Wait()
					require.Zero(t, crashes.Load())
					require.Contains(t, f.takeNotes(), "watchers are told: interrupted CR-2046: enough")
					require.Zero(t, f.x.Memory.Used())
					require.Zero(t, f.x.Count())
					over, err := f.x.Rows.Load(t.Context(), request.RefTo(row))
					require.NoError(t, err)
					require.Equal(t, journal.Interrupted, over.State)
				})
			})
		}
	}
}

// TestEndThatTheStoreRefuses has the end of an execution be refused once its request is durable: it is tried again, and
// the turn that was broken off for it is not taken again.
func TestEndThatTheStoreRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1s", "done ok"}
		crashes := f.countCrashes()
		turns := f.endlessLater()
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 1, turns.Load())
		f.nextCommits("fail")
		require.Error(t, f.x.Stops.Terminate(t.Context(), request.RefTo(row), "enough"))
		f.nextCommits("ok", "fail")
		require.NoError(t, f.x.Stops.Terminate(t.Context(), request.RefTo(row), "enough"))
		over, err := f.x.Rows.Load(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.Equal(t, journal.Interrupted, over.State)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: interrupted CR-2046: enough")
		require.EqualValues(t, 1, turns.Load())
		require.Zero(t, crashes.Load())
	})
}

// TestTerminateWhileTheStoreFails ends an execution whose load fails right behind that. It stays over, and its watchers
// are told.
func TestTerminateWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]bool{"held by a start of the same name": true, "in memory": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				row := rowOf("w", "k")
				if hold {
					f.scripts["w"] = []string{"sleep 100h"}
					_, err := f.x.Starter.Start(t.Context(), row, nil)
					require.NoError(t, err)
					synctest.Wait()
					f.reboot()
					require.False(t, f.x.runs.Has(row.ID))
					f.x.runs.Hold(row.ID)
				} else {
					f.x.NoHeadStarts = true
					turns := f.endless()
					_, err := f.x.Starter.Start(t.Context(), row, nil)
					require.NoError(t, err)
					synctest.Wait()
					require.EqualValues(t, 1, turns.Load())
				}
				f.mu.Lock()
				f.noLoads = 1
				f.mu.Unlock()
				require.NoError(t, f.x.Stops.Terminate(t.Context(), request.RefTo(row), "enough"))
				if hold {
					f.x.runs.Unhold(row.ID)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Contains(t, f.takeNotes(), "watchers are told: interrupted CR-2046: enough")
				over, err := f.x.Rows.Load(t.Context(), request.RefTo(row))
				require.NoError(t, err)
				require.Equal(t, journal.Interrupted, over.State)
			})
		})
	}
}

// TestTerminateOfAReplacedRun terminates a run that has decided its end. The answer to the commit of that is lost, and
// another run takes its place before it looks: the caller learns that the run that it named has ended.
func TestTerminateOfAReplacedRun(t *testing.T) {
	t.Parallel()
	for name, ref := range map[string]func(*journal.Execution) request.Ref{
		"by chain": request.RefTo,
		"by name":  func(row *journal.Execution) request.Ref { return request.Ref{ID: row.ID, Name: row.Name()} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.scripts["w"] = []string{"activity a", "done ok"}
				row := rowOf("w", "k")
				_, err := f.x.Starter.Start(t.Context(), row, nil)
				require.NoError(t, err)
				synctest.Wait()
				f.nextCommits("fail")
				f.decide(1, "ok one")
				synctest.Wait()
				told := make(chan error, 1)
				go func() { told <- f.x.Stops.Terminate(t.Context(), ref(row), "enough") }()
				synctest.Wait()
				f.nextCommits("lose")
				time.Sleep(60 * time.Millisecond)
				synctest.Wait()
				require.Equal(t, "ok\n", f.startOver(row))
				require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(<-told))
			})
		})
	}
}
