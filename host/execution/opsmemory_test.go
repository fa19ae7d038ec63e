package execution

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// largeOps is a guest that takes so much memory for ops of its first turn, and of each later one, as guests do.
type largeOps struct {
	Guest
	memory       guest.Memory
	first, later int64
}

func (g *largeOps) Start(ctx context.Context) (guest.Turn, error) {
	if err := g.take(g.first); err != nil {
		return guest.Turn{}, err
	}
	return g.Guest.Start(ctx)
}

func (g *largeOps) Resume(ctx context.Context, r abi.Resume) (guest.Turn, error) {
	if err := g.take(g.later); err != nil {
		return guest.Turn{}, err
	}
	return g.Guest.Resume(ctx, r)
}

func (g *largeOps) take(bytes int64) error {
	switch {
	case g.memory.Ops == nil || g.memory.Ops.Grow(bytes):
		return nil
	case g.memory.Ops.CouldGrow(bytes):
		return abi.Errorf(abi.CodeOverloaded, "no memory")
	default:
		return abi.Errorf(abi.CodeTooManyOps, "too many ops")
	}
}

// haveLargeOps has guests be such.
func (f *fixture) haveLargeOps(first, later int64) {
	open := f.programs.open
	f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
		opening, err := open(ctx, row)
		inner := opening.Open
		opening.Open = func(ctx context.Context, memory guest.Memory) (Guest, error) {
			g, err := inner(ctx, memory)
			return &largeOps{g, memory, first, later}, err
		}
		return opening, err
	}
}

// queueOutOf replaces the budget Queued.
func (f *fixture) queueOutOf(b *budget.Budget) {
	f.x.Queued, f.x.Recoder.Queued, f.x.shared.instances.Guests.Queued = b, b, b
	f.x.Messages.Runs = notifier{f.x.runs, boxMemory{b}}
}

// TestOpsBesideALargeInbox: the ops of an execution are refused for good if they would leave no memory for its own
// inbox. Others are granted, however many messages there are.
func TestOpsBesideALargeInbox(t *testing.T) {
	t.Parallel()
	const total = 8 * manySignals * messageCost
	for bytes, state := range map[int64]journal.State{
		total * 15 / 16: journal.Paused, total * 3 / 4: journal.Completed,
	} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.queueOutOf(budget.New(total))
				f.haveLargeOps(0, bytes)
				row := f.withManySignals(t)
				require.EqualValues(t, total/mailPart, f.x.Queued.Used())
				f.signal(t, row, "go")
				time.Sleep(time.Hour)
				synctest.Wait()
				over, err := f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				require.Equal(t, state, over.State)
				if state == journal.Paused {
					require.Equal(t, abi.CodeTooManyOps, over.Error.Code)
				}
				require.Zero(t, f.x.Queued.Used())
			})
		})
	}
}

// TestQueryBesideLargeOps asks an execution whose ops have more than half of their memory: there is no second time as
// much for a copy of its guest, or for another guest while the first one's ops are counted.
func TestQueryBesideLargeOps(t *testing.T) {
	t.Parallel()
	for name, evicted := range map[string]bool{"warm": false, "cold": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.scripts["w"] = []string{"activity a", "done ok"}
				f.haveLargeOps(f.x.Queued.Total()*5/8, 0)
				f.copies()
				restore := f.programs.open
				f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
					opening, err := restore(ctx, row)
					plain := opening.Restore
					opening.Restore = func(
						ctx context.Context, memory guest.Memory, saved *guest.Saved,
					) (Guest, error) {
						// as a guest does that is restored
						if err := (&largeOps{memory: memory}).take(f.x.Queued.Total() * 5 / 8); err != nil {
							return nil, err
						}
						return plain(ctx, memory, saved)
					}
					return opening, err
				}
				row := rowOf("w", "k")
				_, err := f.x.Starter.Start(t.Context(), row, nil)
				require.NoError(t, err)
				synctest.Wait()
				if evicted {
					require.True(t, f.x.evictor.evict(row.ID))
					synctest.Wait()
					require.True(t, f.x.InMemory(row.ID), "its activity is under way")
				}
				_, err = f.x.Queries.Query(t.Context(), request.RefTo(row), abi.Query{Name: "state"})
				require.NoError(t, err)
				f.decide(1, "ok one")
				synctest.Wait()
				require.Equal(t, journal.Completed, f.stateOf(t, row))
				require.Zero(t, f.x.Queued.Used())
			})
		})
	}
}
