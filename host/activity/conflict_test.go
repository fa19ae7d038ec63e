package activity

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/journal"
)

// TestConflictsAreRepeated has the transaction collide with others. Each try reserves a number of its own, and gives
// back the one before.
func TestConflictsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		b.commits = []error{journal.ErrConflict, journal.ErrConflict}
		require.EqualValues(t, 3, b.Perform(t.Context(), b.task).(Committed).Entry.Seq)
		require.Equal(t, []uint64{1, 2}, b.voided)
		require.Equal(t, []int{0, 1, 2}, b.collided, "the store learns how often")
	})
}

// TestATransactionThatIsTooLongIsLogged tells the author of an activity about it before it fails.
func TestATransactionThatIsTooLongIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		var logged strings.Builder
		b.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		b.commits = []error{journal.ErrConflict, journal.ErrPreempted}
		require.IsType(t, Committed{}, b.Perform(t.Context(), b.task))
		require.Equal(t, 1, strings.Count(logged.String(), "\n"), "a collision is no news: %s", logged.String())
		require.Contains(t, logged.String(), "level=WARN msg=\""+effects.RepeatsPreempted)
		require.Contains(t, logged.String(), "execution=tiny/W/k activity=step attempt=1")
	})
}

func TestEndlessConflictsCountAsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, withSQL)
		for range conflictLimit + 1 {
			b.commits = append(b.commits, journal.ErrConflict)
		}
		require.Equal(t, abi.CodeTxConflict, b.Perform(t.Context(), b.task).(Failed).Err.Code)
	})
}
