package execution

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// endlessLater computes in later turns until it is stopped, unless it has been told to go on.
type endlessLater struct {
	Guest
	turns *atomic.Int32
	goOn  *atomic.Bool
}

func (g endlessLater) Resume(ctx context.Context, r abi.Resume) (guest.Turn, error) {
	if g.goOn.Load() {
		return g.Guest.Resume(ctx, r)
	}
	g.turns.Add(1)
	<-ctx.Done()
	return guest.Turn{}, ctx.Err()
}

// endlessLater has guests compute in later turns. It returns how many of these were begun, and what lets guests go on.
func (f *fixture) endlessLater() (turns *atomic.Int32, goOn *atomic.Bool) {
	turns, goOn = &atomic.Int32{}, &atomic.Bool{}
	f.guestsAre(func(g Guest) Guest { return endlessLater{g, turns, goOn} })
	return turns, goOn
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
			turns, _ := f.endlessLater()
			return turns
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
					_, err := f.x.Start(t.Context(), row, nil)
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
					require.NoError(t, f.x.Terminate(t.Context(), RefTo(row), "enough"))
					require.Less(t, time.Since(begun), turnTimeout, "it does not wait for the time that a turn may take")
					time.Sleep(time.Minute)
					synctest.Wait()
					require.Zero(t, crashes.Load())
					require.Contains(t, f.takeNotes(), "watchers are told: interrupted CR-2046: enough")
					require.Zero(t, f.x.Memory.Used())
					require.Zero(t, f.x.Count())
					over, err := f.x.Load(t.Context(), RefTo(row))
					require.NoError(t, err)
					require.Equal(t, journal.Interrupted, over.State)
					left, err := f.store.GivenUp(t.Context(), journal.Caller{}, 10)
					require.NoError(t, err)
					require.Empty(t, left, "what it had called is given up")
				})
			})
		}
	}
}

// TestTurnThatIsBrokenOffInVain has the request fail: the execution goes on, and nothing is a crash of its code.
func TestTurnThatIsBrokenOffInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1s", "done ok"}
		crashes := f.countCrashes()
		turns, goOn := f.endlessLater()
		row := rowOf("w", "k")
		_, err := f.x.Start(t.Context(), row, nil)
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 1, turns.Load())
		goOn.Store(true)
		f.nextCommits("fail")
		require.Error(t, f.x.Terminate(t.Context(), RefTo(row), "enough"))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
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
					_, err := f.x.Start(t.Context(), row, nil)
					require.NoError(t, err)
					synctest.Wait()
					f.reboot()
					require.False(t, f.x.runs.Has(row.ID))
					f.x.runs.Hold(row.ID)
				} else {
					f.x.NoHeadStarts = true
					turns := f.endless()
					_, err := f.x.Start(t.Context(), row, nil)
					require.NoError(t, err)
					synctest.Wait()
					require.EqualValues(t, 1, turns.Load())
				}
				f.mu.Lock()
				f.noLoads = 1
				f.mu.Unlock()
				require.NoError(t, f.x.Terminate(t.Context(), RefTo(row), "enough"))
				if hold {
					f.x.runs.Unhold(row.ID)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Contains(t, f.takeNotes(), "watchers are told: interrupted CR-2046: enough")
				over, err := f.x.Load(t.Context(), RefTo(row))
				require.NoError(t, err)
				require.Equal(t, journal.Interrupted, over.State)
			})
		})
	}
}
