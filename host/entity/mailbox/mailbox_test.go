package mailbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// TestMailboxIsBoundedInBytes: few large calls fill it as well.
func TestMailboxIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	arrive := func(bytes int) (c *call.Call, refused error) {
		answer := make(chan call.Answer, 1)
		c = &call.Call{
			Input: make([]byte, bytes), Mailbox: call.DefaultMailbox, Waiters: []*call.Waiter{{Answer: answer}},
		}
		m.Arrive(c, false)
		select {
		case a := <-answer:
			return c, a.Err
		default:
			return c, nil
		}
	}
	large, err := arrive(maxBytes)
	require.NoError(t, err, "one has room in any case")
	_, err = arrive(1)
	require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(err))
	require.False(t, m.Withdraw(large, large.Waiters[0], 0))
	_, err = arrive(1)
	require.NoError(t, err)
}

// TestOneOriginIsOneCall: a call joins another of its origin, and the last caller that leaves takes it out.
func TestOneOriginIsOneCall(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	ask := func() (*call.Call, *call.Waiter) {
		w := &call.Waiter{Answer: make(chan call.Answer, 1)}
		c := &call.Call{Origin: journal.Origin{1}, Mailbox: call.DefaultMailbox, Waiters: []*call.Waiter{w}}
		m.Arrive(c, false)
		return c, w
	}
	first, w := ask()
	second, v := ask()
	require.Equal(t, []*call.Call{first}, m.queue)
	require.Same(t, first, second.Whole())
	require.True(t, m.Withdraw(first, w, 0), "the other waits still")
	require.False(t, m.Withdraw(second, v, 0))
	require.True(t, m.IsEmpty())
}
