package execution

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// busyGuest is a guest that computes once it has its input: at that moment it calls computing.
type busyGuest struct {
	Guest
	computing func()
}

func (g *busyGuest) Start(ctx context.Context) (guest.Turn, error) {
	turn, err := g.Guest.Start(ctx)
	g.computing()
	return turn, err
}

func (g *busyGuest) Resume(ctx context.Context, r abi.Resume) (guest.Turn, error) {
	turn, err := g.Guest.Resume(ctx, r)
	g.computing()
	return turn, err
}

// whileComputing has something happen while guests of a workflow compute.
func (f *fixture) whileComputing(workflow string, computing func()) {
	open := f.programs.open
	f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
		opening, err := open(ctx, row)
		inner := opening.Open
		if row.Workflow == workflow {
			opening.Open = func(ctx context.Context, memory guest.Memory) (Guest, error) {
				g, err := inner(ctx, memory)
				return &busyGuest{g, computing}, err
			}
		}
		return opening, err
	}
}

// TestComputingGuestsHoldNoSharedMemory: a guest that computes behind its large input, behind a large value and behind
// a page of its replay holds nothing of them but the copy that its turn will write.
func TestComputingGuestsHoldNoSharedMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var held []string
		f.whileComputing("scripts/w", func() {
			held = append(held, fmt.Sprintf("%d MiB", f.x.Delivering.Used()>>20))
		})
		f.scripts["w"] = []string{"deferred d", "deferred e", "done ok"}
		row := rowWithLargeInput()
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.settleWith(row, "d", 3<<20)
		require.Equal(t, []string{"0 MiB", "3 MiB"}, held)

		held = nil
		f.x.runs.Each(func(r *run) { r.unload() })
		f.settleWith(row, "e", 1)
		require.Equal(t, []string{"0 MiB", "0 MiB", "0 MiB"}, held, "the input, d out of the journal, and e")
		require.Zero(t, f.x.Delivering.Used())
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{
			Entries: 10, Bytes: 100 << 20,
		})
		require.NoError(t, err)
		require.Greater(t, len(entries[0].Value), 3<<20)
	})
}

// TestOthersStartBesideComputingGuests: there is memory for one large input at a time. Executions are replayed beside
// others whose guests compute behind theirs.
func TestOthersStartBesideComputingGuests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.memory = 100 << 20
		f.restart(0)
		f.scripts["w"], f.scripts["other"] = []string{"deferred d", "done ok"}, []string{"deferred d", "done ok"}
		busy, other := rowWithLargeInput(), rowWithLargeInput()
		other.Workflow = "scripts/other"
		other.ID = journal.IDOf("default", other.Workflow, other.Key)
		for _, row := range []*journal.Execution{busy, other} {
			_, err := f.x.Starter.Start(t.Context(), row, nil)
			require.NoError(t, err)
		}
		synctest.Wait()
		f.x.runs.Each(func(r *run) { r.unload() })
		f.deliverOutOf(budget.New(int64(largevalue.InputCopies * len(busy.Input))))

		computing := make(chan struct{})
		f.whileComputing(busy.Workflow, func() { <-computing })
		settled := make(chan error, 1)
		go func() {
			settled <- f.x.Messages.Settle(t.Context(), request.RefTo(busy), journal.Deferred{
				Name: "d", Value: abi.Nil, Origin: journal.NewOrigin(),
			})
		}()
		synctest.Wait()
		f.settleWith(other, "d", 1)
		now, err := f.store.Load(t.Context(), other.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
		close(computing)
		require.NoError(t, <-settled)
		synctest.Wait()
		now, err = f.store.Load(t.Context(), busy.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
	})
}
