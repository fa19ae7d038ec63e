package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

const (
	waitLong = 15 * time.Minute
	waitTick = time.Millisecond
)

// TestNextUser plays the queue: the input has a j for each transaction of the journal and a g for each of a module that
// waits, and the first user. The output is the order in which they get the writer.
func TestNextUser(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/writerqueue", func(t *testing.T, d *datadriven.TestData) string {
		letters := "jg"
		var first string
		d.ScanArgs(t, "first", &first)
		user := writerUser(strings.Index(letters, first))
		waiting := [2]int{strings.Count(d.Input, "j"), strings.Count(d.Input, "g")}
		var order strings.Builder
		for {
			fmt.Fprintf(&order, "%c", letters[user])
			next, ok := nextUser(user, waiting)
			if !ok {
				return order.String() + "\n"
			}
			user = next
			waiting[user]--
		}
	})
}

func newWriterQueue() (*writerQueue, *clockwork.FakeClock) {
	clock := clockwork.NewFakeClock()
	return &writerQueue{clock: clock, grace: time.Second}, clock
}

// enqueue starts a user that waits for the writer and returns when it waits.
func enqueue(ctx context.Context, t *testing.T, q *writerQueue, user writerUser) <-chan error {
	count := func() int {
		q.mu.Lock()
		defer q.mu.Unlock()
		return len(q.waiting[user])
	}
	before, answer := count(), make(chan error, 1)
	go func() { answer <- q.acquire(ctx, user) }()
	require.Eventually(t, func() bool { return count() == before+1 }, waitLong, waitTick)
	return answer
}

func requireWaiting(t *testing.T, answers ...<-chan error) {
	t.Helper()
	for _, answer := range answers {
		select {
		case err := <-answer:
			require.Fail(t, "got the writer", "%v", err)
		default:
		}
	}
}

func TestWriterQueueAlternates(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q, _ := newWriterQueue()
	require.NoError(t, q.acquire(ctx, guestUser))
	guest1, guest2 := enqueue(ctx, t, q, guestUser), enqueue(ctx, t, q, guestUser)
	journal1, journal2 := enqueue(ctx, t, q, journalUser), enqueue(ctx, t, q, journalUser)

	q.release()
	require.NoError(t, <-journal1, "after a module the journal goes first")
	requireWaiting(t, guest1, guest2, journal2)
	q.release()
	require.NoError(t, <-guest1, "after the journal a module")
	requireWaiting(t, guest2, journal2)
	q.release()
	require.NoError(t, <-journal2)
	q.release()
	require.NoError(t, <-guest2)
	q.release()
	require.NoError(t, q.acquire(ctx, journalUser), "the queue is empty: the writer is free")
}

func TestWriterQueueWithdraw(t *testing.T) {
	t.Parallel()
	q, _ := newWriterQueue()
	require.NoError(t, q.acquire(t.Context(), journalUser))
	ctx, cancel := context.WithCancel(t.Context())
	impatient := enqueue(ctx, t, q, guestUser)
	patient := enqueue(t.Context(), t, q, guestUser)
	cancel()
	require.ErrorIs(t, <-impatient, context.Canceled)
	q.release()
	require.NoError(t, <-patient)
}

func TestWriterQueueShut(t *testing.T) {
	t.Parallel()
	q, _ := newWriterQueue()
	require.NoError(t, q.acquire(t.Context(), journalUser))
	waiting := enqueue(t.Context(), t, q, guestUser)
	closed := errors.New("closed")
	q.shut(closed)
	require.ErrorIs(t, <-waiting, closed)
	require.ErrorIs(t, q.acquire(t.Context(), journalUser), closed)
}

type fakeGuest chan error

func (g fakeGuest) preempt(reason error) { g <- reason }

func TestWriterQueuePreempts(t *testing.T) {
	t.Parallel()
	q, clock := newWriterQueue()
	require.NoError(t, q.acquire(t.Context(), guestUser))
	guest := make(fakeGuest, 1)
	q.heldBy(guest, 0)
	other := enqueue(t.Context(), t, q, guestUser)
	clock.Advance(600 * time.Millisecond)
	require.Nil(t, q.timer, "another module that waits is no reason to preempt")
	waiting := enqueue(t.Context(), t, q, journalUser)
	clock.Advance(400*time.Millisecond - 1)
	require.Empty(t, guest, "the grace counts from the beginning of the transaction, and is not over")
	clock.Advance(1)
	require.ErrorIs(t, <-guest, journal.ErrPreempted)
	q.release()
	require.NoError(t, <-waiting)
	q.release()
	require.NoError(t, <-other)

	// A module that begins while the journal waits has its grace too.
	waiting = enqueue(t.Context(), t, q, journalUser)
	q.heldBy(guest, 0)
	require.Empty(t, guest)
	clock.Advance(time.Second)
	require.ErrorIs(t, <-guest, journal.ErrPreempted)
	q.release()
	require.NoError(t, <-waiting)
}

func TestWriterQueueReleasedInTimeIsNotPreempted(t *testing.T) {
	t.Parallel()
	q, clock := newWriterQueue()
	require.NoError(t, q.acquire(t.Context(), guestUser))
	guest := make(fakeGuest, 1)
	q.heldBy(guest, 0)
	waiting := enqueue(t.Context(), t, q, journalUser)
	q.release()
	require.NoError(t, <-waiting)
	clock.Advance(time.Hour)
	require.Empty(t, guest)
}

// Work that was preempted has twice the time the next time.
func TestWriterQueueIsMorePatientEachTime(t *testing.T) {
	t.Parallel()
	q, clock := newWriterQueue()
	for conflicts, allowed := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
		require.NoError(t, q.acquire(t.Context(), guestUser))
		guest := make(fakeGuest, 1)
		q.heldBy(guest, conflicts)
		waiting := enqueue(t.Context(), t, q, journalUser)
		clock.Advance(allowed - 1)
		require.Empty(t, guest, "%d conflicts", conflicts)
		clock.Advance(1)
		require.ErrorIs(t, <-guest, journal.ErrPreempted)
		q.release()
		require.NoError(t, <-waiting)
		q.release()
	}
}
