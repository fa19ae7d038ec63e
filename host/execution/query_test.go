package execution

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestAQueryEndsWithItsCaller: an answer that never ends does not outlive its caller, whose run goes on at once; nor does a question
// that waits behind it.
func TestAQueryEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1h", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.takeNotes()

		begun := time.Now()
		const patience = queryLimit / 10
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		go func() { _, _ = f.x.Query(ctx, RefTo(row), abi.Query{Name: "endless"}) }()
		synctest.Wait()
		_, err = f.x.Query(ctx, RefTo(row), abi.Query{Name: "given up"})
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(err), "%v", err)
		_, err = f.x.Query(t.Context(), RefTo(row), abi.Query{Name: "again"})
		require.NoError(t, err)
		require.Equal(t, patience, time.Since(begun), "it does not wait for the time that an answer may take")
		require.NotContains(t, f.takeNotes(), "given up")
	})
}

// TestTerminateBreaksOffAQuery: who ends an execution does not wait for an answer that never ends.
func TestTerminateBreaksOffAQuery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"sleep 1h", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()

		begun := time.Now()
		failed := make(chan error, 1)
		go func() {
			_, err := f.x.Query(t.Context(), RefTo(row), abi.Query{Name: "endless"})
			failed <- err
		}()
		synctest.Wait()
		require.NoError(t, f.x.Terminate(t.Context(), RefTo(row), "enough"))
		require.Less(t, time.Since(begun), queryLimit)
		require.Error(t, <-failed)
	})
}
