package host

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal/memory"
)

// TestFollowersPay: a follower has the memory of a page before it reads one, and none when it waits.
func TestFollowersPay(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	row, _, err := e.Launcher().Start(t.Context(), StartRequest{Workflow: "tiny/W", Key: "a", KeyMode: abi.KeyRaw})
	require.NoError(t, err)
	others, err := e.memory.Answers.Acquire(t.Context(), e.memory.Answers.Total())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	told, ended := make(chan FollowEvent, 100), make(chan error, 1)
	go func() {
		ended <- e.Observer().Follow(ctx, row.Namespace, row.Name(), FollowRequest{}, func(e FollowEvent) error {
			told <- e
			return nil
		})
	}()
	require.Eventually(t, func() bool { return e.memory.Answers.Waiting() == 1 }, time.Hour, time.Millisecond)
	others.Release()
	require.Equal(t, row.Run, (<-told).Execution.Run)
	require.Eventually(
		t, func() bool { return e.memory.Answers.Used() == 0 && e.memory.Answers.Waiting() == 0 }, time.Hour,
		time.Millisecond,
	)
	cancel()
	require.Error(t, <-ended)
}
