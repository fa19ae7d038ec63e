package op

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestEarlyAnswerOfALock: the answer to a lock may come before the host says that it will be sent. The op then waits
// for no other, and asks for the next entity.
func TestEarlyAnswerOfALock(t *testing.T) {
	t.Parallel()
	o := &Op{}
	o.Kind = abi.OpLock
	o.Answered()
	o.Await()
	require.False(t, o.Awaiting, "it was answered before")
	o.Await()
	require.True(t, o.Awaiting)
	o.Answered()
	require.False(t, o.Awaiting)
	o.Await()
	require.True(t, o.Awaiting, "an answer that was awaited is not an early one")
}
