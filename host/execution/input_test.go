package execution

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

func rowWithLargeInput() *journal.Execution {
	row := rowOf("w", "k")
	row.Input = abi.MustMarshal(strings.Repeat("x", 3<<20))
	return row
}

// TestLargeInputsAreNotKept: a run has a large input until its guest has it, and again for a
// replay. It is paid for meanwhile, and only then.
func TestLargeInputsAreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var given []int
		var paid []int64
		open := f.programs.open
		f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
			opening, err := open(ctx, row)
			inner := opening.Open
			opening.Open = func(ctx context.Context, memory guest.Memory) (Guest, error) {
				given, paid = append(given, len(row.Input)), append(paid, f.x.Queued.Used()+f.x.Delivering.Used())
				return inner(ctx, memory)
			}
			return opening, err
		}
		f.scripts["w"] = []string{"deferred d", "deferred e", "done ok"}
		row := rowWithLargeInput()
		size := len(row.Input)
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, f.x.Queued.Used())
		f.x.runs.Each(func(r *run) {
			require.Less(t, len(r.row.Input), largevalue.KeptInput)
			r.instance.Drop()
		})
		require.NoError(
			t,
			f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{
				Name: "d", Value: abi.Nil, Origin: journal.NewOrigin(),
			}),
		)
		synctest.Wait()
		require.Equal(t, []int{size, size}, given, "at the start, and for the replay")
		for _, bytes := range paid {
			require.EqualValues(t, largevalue.InputCopies*size, bytes)
		}
		f.x.runs.Each(func(r *run) { r.unload() })
		require.NoError(
			t,
			f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{
				Name: "e", Value: abi.Nil, Origin: journal.NewOrigin(),
			}),
		)
		synctest.Wait()
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
		require.Equal(t, []int{size, size, size}, given, "and once more after the run was loaded")
		require.Zero(t, f.x.Queued.Used()+f.x.Delivering.Used())
	})
}

// TestStartsWaitForTheMemoryOfTheirInput: a start that there is no memory for is refused after a
// moment, with a delay, and has changed nothing. One that another execution asks for does not wait.
func TestStartsWaitForTheMemoryOfTheirInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"done ok"}
		others := f.x.Queued.Empty()
		require.True(t, others.Grow(f.x.Queued.Total()))
		row := rowWithLargeInput()
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
		require.NotZero(t, admission.RetryDelay(err))
		_, err = f.store.Load(t.Context(), row.ID)
		require.ErrorIs(t, err, journal.ErrNotFound)

		child := rowWithLargeInput()
		child.Parent = journal.Caller{ID: child.ID, Run: child.Run}
		permit, err := f.x.Starter.admitInput(t.Context(), child)
		require.NoError(t, err)
		require.Nil(t, permit)

		started := make(chan error, 1)
		go func() {
			_, err := f.x.Starter.Start(t.Context(), row, nil)
			started <- err
		}()
		synctest.Wait()
		others.Release()
		require.NoError(t, <-started)
		synctest.Wait()
		require.Zero(t, f.x.Queued.Used())
	})
}

// TestDeliveriesWaitForTheirMemory: a value that there is no memory for is not read before there
// is, and gives it back with its turn.
func TestDeliveriesWaitForTheirMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		others, err := f.x.Delivering.Acquire(t.Context(), f.x.Delivering.Total())
		require.NoError(t, err)
		value := abi.MustMarshal(strings.Repeat("x", 3<<20))
		require.NoError(
			t,
			f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{
				Name: "d", Value: value, Origin: journal.NewOrigin(),
			}),
		)
		synctest.Wait()
		require.Zero(t, f.reads)
		require.Equal(t, 1, f.x.Delivering.Waiting())
		others.Release()
		synctest.Wait()
		require.Equal(t, 1, f.reads)
		require.Zero(t, f.x.Delivering.Used())
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Completed, now.State)
	})
}

// TestInputsStayPaidWhenTheyAreReceivedAgain: the run of an execution that is started over is in memory still, and
// receives the start once more after it has let go of the finished run.
func TestInputsStayPaidWhenTheyAreReceivedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		over, next := rowOf("w", "k"), rowWithLargeInput()
		over.State = journal.Completed
		r := newRun(f.x.shared, over.ID)
		r.adopt(over)
		input, err := f.x.Starter.admitInput(t.Context(), next)
		require.NoError(t, err)
		again := r.Receive([]notice{started{row: next, input: input}})
		require.Len(t, again, 1)
		require.EqualValues(t, largevalue.InputCopies*len(next.Input), input.Bytes())
		r.input.takeFrom(again)
		r.input.takeFrom(again) // it may be received more than once
		require.EqualValues(t, largevalue.InputCopies*len(next.Input), f.x.Queued.Used())
		r.input.release()
		require.Zero(t, f.x.Queued.Used())
	})
}
