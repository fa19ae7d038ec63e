package mailbox

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/metrics"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/journal"
)

func newMailbox() *Mailbox { return New(metrics.New(nil), time.Minute) }

// message is a message of the inbox.
func message(position uint64) *call.Call {
	return &call.Call{Position: position, Mailbox: call.DefaultMailbox, Concurrency: call.DefaultConcurrency}
}

// pageOf is a page that reaches the end of the inbox.
func pageOf(acked uint64, calls ...*call.Call) *Page {
	p := &Page{Calls: calls, Acked: acked}
	for _, c := range calls {
		p.Last = c.Position
	}
	return p
}

// read has messages read, while nothing else happens.
func (m *Mailbox) read(calls ...*call.Call) { m.TakePage(pageOf(m.BeginPage(), calls...)) }

// TestMessageTakenWhileTheInboxIsRead is not performed again: the page was read before the batch that took the message
// had committed, and arrives after that.
func TestMessageTakenWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	m.Unread()
	m.read(message(1))
	at := m.TakeBatch()
	require.Len(t, at, 1)

	late := pageOf(m.BeginPage(), message(1))
	m.TaskEnded()
	m.Answered(at[0], false)
	m.Hear(0) // there is another message
	m.TakePage(late)
	require.Empty(t, m.queue)
	require.True(t, m.WantsPage(), "the other message is read for")
}

// TestMailWhileAnEmptyInboxIsRead has the inbox read once more, although nothing is at work.
func TestMailWhileAnEmptyInboxIsRead(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	m.Unread()
	page := pageOf(m.BeginPage())
	m.Hear(1)
	m.TakePage(page)
	require.True(t, m.WantsPage())
}

// TestRepeatedCallWhileTheInboxIsRead waits for its message, which the page that is being read
// does not have: it was sent meanwhile, and has not been performed.
func TestRepeatedCallWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	m.Unread()
	page := pageOf(m.BeginPage())
	repeated := &call.Call{
		Kind: call.Stateless, Origin: journal.Origin{1}, Position: 1, Joins: true,
		Waiters: []*call.Waiter{{Answer: make(chan call.Answer, 1)}},
	}
	m.Arrive(repeated, false)
	m.TakePage(page)
	require.Equal(t, []*call.Call{repeated}, m.joining, "it is not said to be gone")
	sent := message(1)
	sent.Kind, sent.Origin = call.Stateless, journal.Origin{1}
	m.read(sent)
	require.Empty(t, m.joining)
	require.Equal(t, []*call.Call{sent}, m.concurrent)
	require.Len(t, sent.Waiters, 1)
}

// TestJoinedMessageThatIsGone: the whole inbox was read, and does not have the message that a call is to join.
func TestJoinedMessageThatIsGone(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	answer := make(chan call.Answer, 1)
	m.Arrive(&call.Call{Origin: journal.Origin{1}, Joins: true, Waiters: []*call.Waiter{{Answer: answer}}}, false)
	require.True(t, m.WantsPage())
	m.read()
	require.ErrorIs(t, (<-answer).Err, call.ErrTaken)
	require.True(t, m.IsEmpty())
}

// TestOvertakenMessageIsReadWhateverIsInMemory: calls may wait for it in front of all that.
func TestOvertakenMessageIsReadWhateverIsInMemory(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	for position := uint64(10); len(m.positions) <= maxFetched; position++ {
		m.read(message(position))
	}
	m.Unread()
	require.False(t, m.WantsPage())
	m.Hear(6)
	require.EqualValues(t, 5, m.order.seen)
	require.True(t, m.WantsPage())
}

// TestRetryWhileTheInboxIsRead: the page has the retried message and comes after the end of the batch that
// parked it, as a page from before that batch would. So the inbox is read again, and later calls wait for it.
func TestRetryWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	m.Unread()
	m.read(message(1))
	at := m.TakeBatch()
	require.Len(t, at, 1)

	m.Hear(1)
	page := pageOf(m.BeginPage(), message(1))
	m.TaskEnded()
	m.Answered(at[0], true)
	m.TakePage(page)
	require.Empty(t, m.queue)
	require.True(t, m.WantsPage())
	late := &call.Call{Kind: call.Read, Mailbox: call.DefaultMailbox}
	m.Arrive(late, false)
	require.False(t, m.InTurn(late))
	m.read(message(1))
	require.Len(t, m.queue, 1)
	require.EqualValues(t, 1, m.order.seen)
	require.False(t, m.WantsPage())
}

// TestAttemptsOfAMessageThatIsGone are forgotten: the commit that parked it may have lost its answer, and it
// has all attempts again if it is retried.
func TestAttemptsOfAMessageThatIsGone(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	m.read(message(1))
	m.misfits.attempts = map[uint64]int{1: 3, 2: parked.MaxAttempts}
	m.read(message(1))
	require.Equal(t, map[uint64]int{1: 3}, m.misfits.attempts)
}
