package execution

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// TestAQueryEndsWithItsCaller: an answer that never ends does not outlive its caller, whose run goes on at once; nor
// does a question that waits behind it.
func TestAQueryEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1h", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.takeNotes()

		begun := time.Now()
		const patience = queryLimit / 10
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		go func() { _, _ = f.x.Queries.Query(ctx, request.RefTo(row), abi.Query{Name: "endless"}) }()
		synctest.Wait()
		_, err = f.x.Queries.Query(ctx, request.RefTo(row), abi.Query{Name: "given up"})
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(err), "%v", err)
		_, err = f.x.Queries.Query(t.Context(), request.RefTo(row), abi.Query{Name: "again"})
		require.NoError(t, err)
		require.Equal(t, patience, time.Since(begun), "it does not wait for the time that an answer may take")
		require.NotContains(t, f.takeNotes(), "given up")
	})
}

// copyable is a guest of which there are copies.
type copyable struct{ Guest }

func (copyable) Save() (*guest.Saved, error) { return &guest.Saved{}, nil }

// copies has a fixture make copies of its guests.
func (f *fixture) copies() {
	open := f.programs.open
	f.programs.open = func(ctx context.Context, row *journal.Execution) (Opening, error) {
		opening, err := open(ctx, row)
		opening.Restore = func(ctx context.Context, memory guest.Memory, _ *guest.Saved) (Guest, error) {
			return opening.Open(ctx, memory)
		}
		return opening, err
	}
	f.guestsAre(func(g Guest) Guest { return copyable{g} })
}

// TestACopyThatAnswersEndsWithItsCaller: what answers beside the run gives its place and its memory back when its
// caller is gone.
func TestACopyThatAnswersEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1h", "done ok"}
		f.copies()
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		used := f.x.Memory.Used()

		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), queryLimit/10)
		defer cancel()
		for range maxQuerying {
			go func() { _, _ = f.x.Queries.Query(ctx, request.RefTo(row), abi.Query{Name: "endless"}) }()
		}
		synctest.Wait()
		_, err = f.x.Queries.Query(t.Context(), request.RefTo(row), abi.Query{Name: "one more"})
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err), "%v", err)
		<-ctx.Done()
		synctest.Wait()
		_, err = f.x.Queries.Query(t.Context(), request.RefTo(row), abi.Query{Name: "again"})
		require.NoError(t, err)
		require.Equal(t, queryLimit/10, time.Since(begun))
		synctest.Wait()
		require.Equal(t, used, f.x.Memory.Used())
	})
}

// TestTerminateBreaksOffAQuery: an answer that never ends is ended with its execution, whether the guest itself
// computes it or a copy, and also if the run has left memory meanwhile. Those of other executions go on.
func TestTerminateBreaksOffAQuery(t *testing.T) {
	t.Parallel()
	for name, copies := range map[string]bool{"itself": false, "copy": true} {
		for where, evict := range map[string]bool{"in memory": false, "absent": true} {
			t.Run(name+", "+where, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { terminateAQuery(t, copies, evict) })
			})
		}
	}
}

func terminateAQuery(t *testing.T, copies, evict bool) {
	f := newFixture(t)
	f.scripts["w"] = []string{"sleep 1h", "done ok"}
	if copies {
		f.copies()
	}
	begun := time.Now()
	failed := map[string]chan error{"ended": make(chan error, 1), "other": make(chan error, 1)}
	rows := map[string]*journal.Execution{}
	for key, reply := range failed {
		row := rowOf("w", key)
		rows[key] = row
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		go func() {
			_, err := f.x.Queries.Query(t.Context(), request.RefTo(row), abi.Query{Name: "endless"})
			reply <- err
		}()
	}
	synctest.Wait()
	if evict && copies {
		require.True(t, f.x.evictor.evict(rows["ended"].ID))
		synctest.Wait()
		require.False(t, f.x.InMemory(rows["ended"].ID))
	}
	require.NoError(t, f.x.Stops.Terminate(t.Context(), request.RefTo(rows["ended"]), "enough"))
	err := <-failed["ended"]
	require.Error(t, err)
	if copies {
		require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(err), "%v", err)
	}
	require.Less(t, time.Since(begun), queryLimit)
	require.Error(t, <-failed["other"])
	require.Equal(t, queryLimit, time.Since(begun))
}
