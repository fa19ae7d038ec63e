package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// TestArrivals keeps a little of the latest arrivals.
func TestArrivals(t *testing.T) {
	t.Parallel()
	a := message.NewArrivals(10)
	arrive := func(position uint64, bytes int) bool {
		a.Add(journal.Message{Envelope: journal.Envelope{Position: position, Bytes: bytes}, Value: make([]byte, bytes)})
		m, there := a.Find(position)
		require.Equal(t, there, m.Position == position)
		return there
	}
	require.True(t, arrive(1, 6))
	require.False(t, arrive(2, 5))
	require.True(t, arrive(3, 4))
	a.LetGo()
	_, there := a.Find(1)
	require.False(t, there)
	require.True(t, arrive(4, 10))
	a.LetGo()
	a.Add(journal.Message{Envelope: journal.Envelope{Position: 5, Bytes: 1}})
	_, there = a.Find(5)
	require.False(t, there, "its value stayed in the store")
}
