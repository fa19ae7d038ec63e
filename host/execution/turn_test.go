package execution

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestFinalUpdate(t *testing.T) {
	t.Parallel()
	interrupted := abi.Errorf(abi.CodeInterrupted, "interrupted")
	for name, c := range map[string]struct {
		outcome     abi.Outcome
		interrupted bool
		state       journal.State
		code        abi.Code
	}{
		"a result":                       {abi.Outcome{Value: abi.Nil}, false, journal.Completed, ""},
		"a result after an interrupt":    {abi.Outcome{Value: abi.Nil}, true, journal.Completed, ""},
		"an error without a code":        {abi.Outcome{Error: &abi.Error{Message: "no"}}, false, journal.Failed, abi.CodeWorkflowFailed},
		"an error of an activity":        {abi.Outcome{Error: abi.Errorf(abi.CodeActivityFailed, "no")}, false, journal.Failed, abi.CodeActivityFailed},
		"interrupted":                    {abi.Outcome{Error: interrupted}, true, journal.Interrupted, abi.CodeInterrupted},
		"interrupted, without a request": {abi.Outcome{Error: interrupted}, false, journal.Failed, abi.CodeInterrupted},
	} {
		u := finalUpdate(c.outcome, c.interrupted, 7)
		require.Equal(t, c.state, u.State, name)
		require.Equal(t, journal.Never, u.WakeAt, name)
		require.EqualValues(t, 7, u.FinishedAt, name)
		if c.code != "" {
			require.Equal(t, c.code, u.Error.Code, name)
		}
	}
}

// TestTooLongAJournal pauses an execution whose journal has reached its limit. What
// was to be delivered is journaled with the pause.
func TestTooLongAJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done never"}
		row := rowOf("w", "k")
		r := newRun(f.x, row.ID)
		_, err := f.x.commitStart(t.Context(), journal.Write{ID: row.ID, Run: row.Run, Start: row})
		require.NoError(t, err)
		r.Receive([]notice{started{row: row}})
		r.ledger.seq = maxEntries
		reply := make(chan error, 1)
		r.Receive([]notice{settleRequest{journal.Deferred{Name: "d", Value: abi.Nil, At: 1}, reply}})
		require.NoError(t, <-reply)
		require.Equal(t, journal.Paused, r.row.State)
		require.Equal(t, abi.CodeExecutionTooLong, r.row.Error.Code)
		entries, _, err := f.store.Entries(t.Context(), row.ID, 0, journal.PageLimit{Entries: 10})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		r.dropGuest()
	})
}
