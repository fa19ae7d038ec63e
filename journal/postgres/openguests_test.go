package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpenGuests(t *testing.T) {
	t.Parallel()
	var open openGuests
	first, second := &guestTx{}, &guestTx{}
	require.True(t, open.add(first))
	require.True(t, open.add(second))
	open.remove(first)
	open.remove(first)
	require.Equal(t, []*guestTx{second}, open.close())
	require.False(t, open.add(first), "the store is closed")
}
