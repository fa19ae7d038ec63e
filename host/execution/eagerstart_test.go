package execution

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// beforeStart does something while the commit of a start is under way. If it returns an error, the start is not
// committed.
type beforeStart struct {
	Committer
	do func() error
}

func (c *beforeStart) Commit(w journal.Write) (journal.Result, error) {
	if w.Start != nil {
		if err := c.do(); err != nil {
			return journal.Result{}, err
		}
	}
	return c.Committer.Commit(w)
}

// TestHeadStart takes the first turn while the start is being committed. Nothing comes of it before the start is
// durable, and then the turn is not taken again.
func TestHeadStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"activity a", "done ok"}
		f.committer.Committer = &beforeStart{f.committer.Committer, func() error {
			synctest.Wait()
			require.Equal(t, "guest start\n", f.takeNotes(), "the turn is taken, and the activity does not begin")
			return nil
		}}
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "activity 1: a begins, attempt 1\n", f.takeNotes(), "the turn was taken again")
		require.EqualValues(t, 1, f.x.Memory.Used(), "one instance")
	})
}

// TestHeadStartOfAFailedStart has the store refuse a start whose first turn was taken, and find that there is one of
// the same name already.
func TestHeadStartOfAFailedStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		committer := f.committer.Committer
		f.committer.Committer = &beforeStart{committer, func() error {
			synctest.Wait()
			return errors.New("the disk is full")
		}}
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.Equal(t, abi.CodeStore, abi.CodeOf(err))
		synctest.Wait()
		require.Equal(t, "guest start\ninstance dropped\n", f.takeNotes())
		require.Zero(t, f.x.Memory.Used())
		require.Zero(t, f.x.Count())

		f.committer.Committer = committer
		_, err = f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "guest start\ninstance dropped\nwatchers are told: completed ok\n", f.takeNotes())
		existed, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		require.True(t, existed)
		synctest.Wait()
		require.NotContains(t, f.takeNotes(), "watchers", "they were told again")
		require.Zero(t, f.x.Memory.Used())
		require.Zero(t, f.x.Count())
	})
}

// slowGuest takes its first turn when it may.
type slowGuest struct {
	Guest
	may chan struct{}
}

func (g *slowGuest) Start(ctx context.Context) (guest.Turn, error) {
	<-g.may
	return g.Guest.Start(ctx)
}

// slowFirstTurns has guests take their first turns when the channel is closed.
func (f *fixture) slowFirstTurns() (may chan struct{}) {
	may = make(chan struct{})
	f.guestsAre(func(g Guest) Guest { return &slowGuest{g, may} })
	return may
}

// guestsAre has guests be something else from now on.
func (f *fixture) guestsAre(something func(Guest) Guest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	open := f.programs.open
	f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
		opening, err := open(ctx, row)
		inner := opening.Open
		opening.Open = func(ctx context.Context, memory guest.Memory) (Guest, error) {
			g, err := inner(ctx, memory)
			return something(g), err
		}
		return opening, err
	}
}

// TestHeadStartThatTakesLong answers the caller of a start before the first turn has ended. If the
// start is in vain, the memory of the turn is given back at its end.
func TestHeadStartThatTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		may := f.slowFirstTurns()
		committer := f.committer.Committer
		f.committer.Committer = &beforeStart{committer, func() error { return errors.New("the disk is full") }}
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.Error(t, err)
		f.committer.Committer = committer
		_, err = f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, f.takeNotes(), "no turn is over yet")
		close(may)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
		require.Zero(t, f.x.Memory.Used())
		require.Zero(t, f.x.Count())
	})
}

// crashCounter counts crashes of guests.
type crashCounter struct {
	prometheus.Counter
	n atomic.Int32
}

func (c *crashCounter) Inc() { c.n.Add(1) }

func (f *fixture) countCrashes() *atomic.Int32 {
	c := &crashCounter{}
	f.x.shared.metrics.crashes = c
	return &c.n
}

// endlessGuest computes until it is stopped.
type endlessGuest struct {
	Guest
	turns *atomic.Int32
}

func (g endlessGuest) Start(ctx context.Context) (guest.Turn, error) {
	g.turns.Add(1)
	<-ctx.Done()
	return guest.Turn{}, &wasm.Trap{Err: abi.Errorf(abi.CodeGuestTimeout, "stopped: %v", context.Cause(ctx))}
}

// endless has guests compute until they are stopped. It returns how many turns were begun.
func (f *fixture) endless() *atomic.Int32 {
	turns := &atomic.Int32{}
	f.guestsAre(func(g Guest) Guest { return endlessGuest{g, turns} })
	return turns
}

// TestEndlessHeadStart has a first turn use up its time ahead of its start. That is the first of the
// crashes after which the execution is paused.
func TestEndlessHeadStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		crashes, turns := f.countCrashes(), f.endless()
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		time.Sleep(turnTimeout - time.Nanosecond)
		synctest.Wait()
		require.EqualValues(t, 1, turns.Load())
		time.Sleep((crashLimit - 1) * turnTimeout)
		synctest.Wait()
		require.EqualValues(t, crashLimit, turns.Load())
		require.NotContains(t, f.takeNotes(), "watchers")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.EqualValues(t, crashLimit, turns.Load(), "the turn ahead of the start was taken again")
		require.EqualValues(t, crashLimit, crashes.Load())
		require.Contains(
			t, f.takeNotes(), "watchers are told: paused CR-2010: the workflow crashed 3 times in a row; last: CR-4005",
		)
		require.Zero(t, f.x.Memory.Used())
	})
}

// TestEndlessHeadStartInVain has the start fail while its first turn computes, and again behind its
// end. Neither is a crash of the execution started then.
func TestEndlessHeadStartInVain(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]time.Duration{"computes": time.Second, "is stopped": turnTimeout} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.scripts["w"] = []string{"done ok"}
				open, committer := f.programs.open, f.committer.Committer
				turns := f.endless()
				f.committer.Committer = &beforeStart{committer, func() error {
					time.Sleep(meanwhile)
					synctest.Wait()
					return errors.New("the disk is full")
				}}
				_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
				require.Equal(t, abi.CodeStore, abi.CodeOf(err))
				synctest.Wait()
				require.EqualValues(t, 1, turns.Load())
				require.Equal(t, "instance dropped\n", f.takeNotes())
				require.Zero(t, f.x.Memory.Used())
				require.Zero(t, f.x.Count())

				f.committer.Committer, f.programs.open = committer, open
				_, err = f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
				require.NoError(t, err)
				synctest.Wait()
				require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
			})
		})
	}
}

// TestHeadStartOfAHostThatEnds: that a host ends is no failure of the guest that it stops.
func TestHeadStartOfAHostThatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		turns := f.endless()
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.EqualValues(t, 1, turns.Load())
		f.restart(0)
		synctest.Wait()
		require.EqualValues(t, 1, turns.Load())
		require.Equal(t, "guest start\ninstance dropped\nwatchers are told: completed ok\n", f.takeNotes())
	})
}

// TestHeadStartThatTheHostBreaks has a first turn end by a fault of the host. It is taken again,
// and is no crash.
func TestHeadStartThatTheHostBreaks(t *testing.T) {
	t.Parallel()
	for _, code := range []abi.Code{abi.CodeOverloaded, abi.CodeInternal} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			f.scripts["w"] = []string{"done ok"}
			crashes := f.countCrashes()
			open, broken := f.programs.open, false
			f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
				opening, err := open(ctx, row)
				inner := opening.Open
				opening.Open = func(ctx context.Context, memory guest.Memory) (Guest, error) {
					g, err := inner(ctx, memory)
					if !broken {
						broken = true
						return brokenGuest{g, code}, err
					}
					return g, err
				}
				return opening, err
			}
			_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
			require.NoError(t, err)
			synctest.Wait()
			require.True(t, broken)
			require.Equal(
				t, "instance dropped\nguest start\ninstance dropped\nwatchers are told: completed ok\n", f.takeNotes(),
			)
			require.Zero(t, crashes.Load())
		})
	}
}

// brokenGuest fails by a code.
type brokenGuest struct {
	Guest
	code abi.Code
}

func (g brokenGuest) Start(context.Context) (guest.Turn, error) {
	return guest.Turn{}, abi.Errorf(g.code, "injected")
}

// TestNoMemoryForAHeadStart starts an execution while others have all of the memory. Its first turn is taken once it is
// durable: it is no reason to evict before that.
func TestNoMemoryForAHeadStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		all, err := f.x.Memory.Acquire(t.Context(), f.x.Memory.Total())
		require.NoError(t, err)
		f.committer.Committer = &beforeStart{f.committer.Committer, func() error {
			synctest.Wait()
			require.Empty(t, f.takeNotes())
			require.Zero(t, f.x.Memory.Waiting(), "it waits for memory")
			return nil
		}}
		_, err = f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		all.Release()
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
	})
}

// TestHeadStartThatPanics has the host fail in a first turn ahead of its start. The run takes the turn itself, and
// whatever is wrong with it is its trouble then.
func TestHeadStartThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		open, opened := f.programs.open, 0
		f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
			if opened++; opened == 1 {
				panic("injected")
			}
			return open(ctx, row)
		}
		_, err := f.x.Starter.Start(t.Context(), rowOf("w", "k"), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "watchers are told: completed ok")
		require.Equal(t, 2, opened)
	})
}
