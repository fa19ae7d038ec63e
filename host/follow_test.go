package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/journal"
)

// A follower that is cut off asks for what comes behind the last entry that it was told: none may be
// told before one with a lower number.
func TestFollowTellsEntriesInTheirOrder(t *testing.T) {
	t.Parallel()
	var told []any
	v := &following{tell: func(e FollowEvent) error {
		if e.Entry != nil {
			told = append(told, e.Entry.Seq)
		} else {
			told = append(told, e.Line.Message)
		}
		return nil
	}}
	err := v.tellAll([]journal.Entry{{Seq: 9, At: 5}, {Seq: 10, At: 8}, {Seq: 11, At: 7}}, []follow.Line{{At: 1, Message: "a"}, {At: 6, Message: "b"}, {At: 9, Message: "c"}})
	require.NoError(t, err)
	require.Equal(t, []any{"a", uint64(9), "b", uint64(10), uint64(11), "c"}, told)
	require.EqualValues(t, 11, v.after)
}
