package host

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
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

// TestFollowersPay: a follower has the memory of a page before it reads one, and none when it waits.
func TestFollowersPay(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	row, _, err := e.StartWorkflow(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	others, err := e.answers.Acquire(t.Context(), e.answers.Total())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan FollowEvent, 100), make(chan error, 1)
	go func() {
		ended <- e.Follow(ctx, row.Namespace, row.Name(), FollowRequest{}, func(e FollowEvent) error {
			told <- e
			return nil
		})
	}()
	require.Eventually(t, func() bool { return e.answers.Waiting() == 1 }, time.Minute, time.Millisecond)
	others.Release()
	require.Equal(t, row.Run, (<-told).Execution.Run)
	require.Eventually(t, func() bool { return e.answers.Used() == 0 && e.answers.Waiting() == 0 }, time.Minute, time.Millisecond)
	cancel()
	require.Error(t, <-ended)
}
