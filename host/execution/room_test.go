package execution

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// resumedGuest is a guest that something happens to whenever it is resumed.
type resumedGuest struct {
	Guest
	memory  guest.Memory
	resumed func(guest.Memory) error
}

func (g *resumedGuest) Resume(ctx context.Context, r abi.Resume) (guest.Turn, error) {
	if err := g.resumed(g.memory); err != nil {
		return guest.Turn{}, err
	}
	return g.Guest.Resume(ctx, r)
}

// onResume has something happen to all guests whenever they are resumed, and counts the instances.
func (f *fixture) onResume(resumed func(guest.Memory) error) (opened *int) {
	opened = new(int)
	open := f.programs.open
	f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
		opening, err := open(ctx, row)
		inner := opening.Open
		opening.Open = func(ctx context.Context, memory guest.Memory) (Guest, error) {
			*opened++
			g, err := inner(ctx, memory)
			return &resumedGuest{g, memory, resumed}, err
		}
		return opening, err
	}
	return opened
}

func (f *fixture) settleWith(row *journal.Execution, name string, length int) (value []byte) {
	value = abi.MustMarshal(strings.Repeat("x", length))
	require.NoError(
		f.t,
		f.x.Messages.Settle(f.t.Context(), request.RefTo(row), journal.Deferred{
			Name: name, Value: value, Origin: journal.NewOrigin(),
		}),
	)
	synctest.Wait()
	return value
}

// TestRefusedInstancesAreAdmittedWithRoom: after its instance was refused memory, a run begins the next one when there
// is memory for all of it, and not before. It has no value in hand meanwhile.
func TestRefusedInstancesAreAdmittedWithRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const growth = 60
		opened := f.onResume(func(memory guest.Memory) error {
			if !memory.Instance.Grow(growth) {
				return abi.Errorf(abi.CodeOverloaded, "no memory left")
			}
			return nil
		})
		f.scripts["w"] = []string{"deferred d", "deferred e", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		begun := f.x.Memory.Used()
		others, err := f.x.Memory.Acquire(t.Context(), f.x.Memory.Total()-growth)
		require.NoError(t, err)

		f.settleWith(row, "d", 3<<20)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, *opened, "the first one is not replaced before there is room")
		require.Equal(t, 1, f.x.Memory.Waiting())
		require.Zero(t, f.x.Delivering.Used())
		f.x.runs.Each(func(r *run) { require.Zero(t, r.carried.Bytes()) })

		others.Release()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, *opened)
		require.Equal(t, 2, f.reads, "the value was read for each turn")
		require.Equal(t, begun+growth, f.x.Memory.Used(), "what the guest did not grow into is given back")

		f.x.runs.Each(func(r *run) {
			r.instance.Drop()
			require.Equal(t, begun+growth, r.instance.Room(), "a replay needs as much again")
		})
	})
}

// TestReplayedPagesArePaidFor: a page with large entries is paid for while a guest is given them, and not while an
// instance is waited for.
func TestReplayedPagesArePaidFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.hibernation.Entries = 1000 // the first page tells whether there may be a state
		f.restart(0)
		var paid []int64
		f.onResume(func(guest.Memory) error {
			paid = append(paid, f.x.Delivering.Used())
			return nil
		})
		f.scripts["w"] = []string{"deferred d", "deferred e", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		cost := int64(largevalue.DeliveryCopies * len(f.settleWith(row, "d", 3<<20)))
		require.Equal(t, []int64{cost}, paid)

		f.x.runs.Each(func(r *run) { r.instance.Drop() })
		others, err := f.x.Memory.Acquire(t.Context(), f.x.Memory.Total())
		require.NoError(t, err)
		f.settleWith(row, "e", 1)
		require.Equal(t, 1, f.x.Memory.Waiting())
		require.Zero(t, f.x.Delivering.Used())
		others.Release()
		synctest.Wait()
		require.Equal(t, []int64{cost, cost, 0}, paid, "d, d once more, and e")
		require.Zero(t, f.x.Delivering.Used())
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
	})
}

// TestPagesWaitForTheirMemory: a page that turns out to be larger than the memory taken for reading
// it is dropped, and read again when there is memory for it.
func TestPagesWaitForTheirMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "deferred e", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		cost := int64(largevalue.DeliveryCopies * len(f.settleWith(row, "d", 3<<20)))
		others, err := f.x.Delivering.Acquire(t.Context(), f.x.Delivering.Total()-cost+1)
		require.NoError(t, err)

		pages := rebuild.NewPages(f.x.Delivering, f.x.Store, row.RunKey())
		type page struct {
			entries []journal.Entry
			err     error
		}
		read := make(chan page, 1)
		go func() {
			entries, _, err := pages.Read(t.Context(), 0)
			read <- page{entries, err}
		}()
		synctest.Wait()
		require.Empty(t, read)
		require.Equal(t, others.Bytes(), f.x.Delivering.Used())
		others.Shrink(1)
		first := <-read
		require.NoError(t, first.err)
		require.Len(t, first.entries, 1)
		require.Equal(t, f.x.Delivering.Total(), f.x.Delivering.Used())
		require.True(t, pages.IsLarge())
		pages.Release()
		require.Equal(t, others.Bytes(), f.x.Delivering.Used())
	})
}

// TestCrashesWaitWithNothingInHand: after a crash in a turn with a large value, the replay finds
// the memory for a large page, because the run has given back the memory of the value. It takes
// that again for the next try, and for the pause if that crashes too.
func TestCrashesWaitWithNothingInHand(t *testing.T) {
	t.Parallel()
	for crashes, want := range map[int]journal.State{1: journal.Completed, crashLimit: journal.Paused} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			const length = 4_000_000
			f.deliverOutOf(budget.New(largevalue.DeliveryCopies*length + 1<<20)) // one at a time
			f.onResume(func(guest.Memory) error {
				require.Positive(t, f.x.Delivering.Used())
				return nil
			})
			f.scripts["w"] = []string{"deferred d", "deferred e", "done ok"}
			row := rowOf("w", "k")
			_, err := f.x.Starter.Start(t.Context(), row, nil)
			require.NoError(t, err)
			synctest.Wait()
			f.settleWith(row, "d", length)
			f.traps = crashes
			f.settleWith(row, "e", length)
			require.Zero(t, f.x.Delivering.Waiting())
			require.Zero(t, f.x.Delivering.Used())
			now, err := f.store.Load(t.Context(), row.ID)
			require.NoError(t, err)
			require.Equal(t, want, now.State)
			entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{
				Entries: 10, Bytes: 100 << 20,
			})
			require.NoError(t, err)
			require.Len(t, entries, 2)
			require.Greater(t, len(entries[1].Value), length)
		})
	}
}
