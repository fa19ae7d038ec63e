package instance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoom: an instance begins with the room that the one before needed, or was refused, within the total.
func TestRoom(t *testing.T) {
	t.Parallel()
	var r room
	require.EqualValues(t, 10, r.of(10, 100), "nothing is known yet")
	r.learn(30, false)
	require.EqualValues(t, 30, r.of(10, 100))
	require.EqualValues(t, 40, r.of(40, 100), "it begins larger than the one before was")
	r.learn(30, true)
	require.EqualValues(t, 45, r.of(10, 100), "half as much again as it was refused")
	r.expected = 40
	require.EqualValues(t, 85, r.of(10, 100))
	require.EqualValues(t, 60, r.of(10, 60), "no more than there is")
	require.EqualValues(t, 70, r.of(70, 60), "the caller is told of what can never be")
}
