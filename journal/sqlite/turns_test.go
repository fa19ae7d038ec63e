package sqlite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

const (
	waitLong = 20 * time.Second
	waitTick = time.Millisecond
)

// queue lets somebody wait for the turn and returns when he does.
func queue(t *testing.T, turns *turns, ctx context.Context, class turnClass) <-chan error {
	count := func() int {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return len(turns.waiting[class])
	}
	before, answer := count(), make(chan error, 1)
	go func() { answer <- turns.take(ctx, class) }()
	require.Eventually(t, func() bool { return count() == before+1 }, waitLong, waitTick)
	return answer
}

func requireWaiting(t *testing.T, answers ...<-chan error) {
	t.Helper()
	for _, answer := range answers {
		select {
		case err := <-answer:
			require.Fail(t, "got the turn", "%v", err)
		default:
		}
	}
}

func TestTurnsAlternate(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	turns := &turns{grace: time.Hour}
	require.NoError(t, turns.take(ctx, guestTurn))
	guest1, guest2 := queue(t, turns, ctx, guestTurn), queue(t, turns, ctx, guestTurn)
	journal1, journal2 := queue(t, turns, ctx, journalTurn), queue(t, turns, ctx, journalTurn)

	turns.give()
	require.NoError(t, <-journal1, "after a module the journal goes first")
	requireWaiting(t, guest1, guest2, journal2)
	turns.give()
	require.NoError(t, <-guest1, "after the journal a module")
	requireWaiting(t, guest2, journal2)
	turns.give()
	require.NoError(t, <-journal2)
	turns.give()
	require.NoError(t, <-guest2)
	turns.give()
	require.NoError(t, turns.take(ctx, journalTurn), "nobody waits: it is free")
}

func TestTurnsWithdraw(t *testing.T) {
	t.Parallel()
	turns := &turns{grace: time.Hour}
	require.NoError(t, turns.take(t.Context(), journalTurn))
	ctx, cancel := context.WithCancel(t.Context())
	impatient := queue(t, turns, ctx, guestTurn)
	patient := queue(t, turns, t.Context(), guestTurn)
	cancel()
	require.ErrorIs(t, <-impatient, context.Canceled)
	turns.give()
	require.NoError(t, <-patient)
}

func TestTurnsShut(t *testing.T) {
	t.Parallel()
	turns := &turns{grace: time.Hour}
	require.NoError(t, turns.take(t.Context(), journalTurn))
	waiting := queue(t, turns, t.Context(), guestTurn)
	over := errors.New("over")
	turns.shut(over)
	require.ErrorIs(t, <-waiting, over)
	require.ErrorIs(t, turns.take(t.Context(), journalTurn), over)
}

type fakeGuest chan error

func (g fakeGuest) preempt(reason error) { g <- reason }

func TestTurnsPreempt(t *testing.T) {
	t.Parallel()
	turns := &turns{grace: 0}
	require.NoError(t, turns.take(t.Context(), guestTurn))
	guest := make(fakeGuest, 1)
	turns.held(guest)
	other := queue(t, turns, t.Context(), guestTurn)
	require.Nil(t, turns.timer, "another module is no reason")
	waiting := queue(t, turns, t.Context(), journalTurn)
	require.ErrorIs(t, <-guest, journal.ErrConflict)
	turns.give()
	require.NoError(t, <-waiting)
	turns.give()
	require.NoError(t, <-other)

	// Whoever gets the turn while the journal waits is watched from the start.
	waiting = queue(t, turns, t.Context(), journalTurn)
	turns.held(guest)
	require.ErrorIs(t, <-guest, journal.ErrConflict)
	turns.give()
	require.NoError(t, <-waiting)
}
