package cruster_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// headcount counts how many coroutines are inside at a time.
type headcount struct{ now, most int }

func (c *headcount) enter() { c.now++; c.most = max(c.most, c.now) }
func (c *headcount) leave() { c.now-- }

var semaphored = cruster.NewWorkflow("test.semaphored", func(ctx cruster.Context, _ int) ([]string, error) {
	var trace []string
	var inside headcount
	slots := cruster.NewSemaphore(2)
	var group cruster.WaitGroup
	for i := range 6 {
		group.Go(ctx, func(ctx cruster.Context) {
			// The third asks for both, and coroutines behind it wait for it.
			n := 1
			if i == 2 {
				n = 2
			}
			if err := slots.Acquire(ctx, n); err != nil {
				trace = append(trace, fmt.Sprint(i, " ", err))
				return
			}
			defer slots.Release(n)
			inside.enter()
			defer inside.leave()
			if err := cruster.Sleep(ctx, time.Minute); err != nil {
				trace = append(trace, err.Error())
			}
			trace = append(trace, fmt.Sprint(i))
		})
	}
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	// A waiter that gives up takes nothing, and keeps no one behind it waiting.
	late, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Second))
	trace = append(trace, fmt.Sprint("late ", slots.Acquire(late, 1)))
	cancel()
	if err := group.Wait(ctx); err != nil {
		return nil, err
	}
	trace = append(
		trace, fmt.Sprint("most ", inside.most, ", ", slots.TryAcquire(2), " ", slots.TryAcquire(1)),
		fmt.Sprint(slots.Acquire(ctx, 3)),
	)
	slots.Release(2)
	return trace, nil
})

func TestSemaphore(t *testing.T) {
	t.Parallel()
	got, h, err := run(t, semaphored, 0)
	require.NoError(t, err)
	require.Equal(t, []string{
		"late timed out", "0", "1", "2", "3", "4", "5", "most 2, true false", "CR-4002: a semaphore of 2 cannot give 3",
	}, got)
	require.Equal(t, 4*time.Minute, h.Duration())
}

var channelled = cruster.NewWorkflow("test.channelled", func(ctx cruster.Context, capacity int) ([]string, error) {
	var trace []string
	values := cruster.NewChannel[int](capacity)
	producer := cruster.Go(ctx, func(ctx cruster.Context) error {
		defer values.Close()
		for i := range 4 {
			if err := values.Send(ctx, i); err != nil {
				return err
			}
			trace = append(trace, fmt.Sprint("sent ", i))
		}
		return nil
	})
	if err := cruster.Sleep(ctx, time.Second); err != nil {
		return nil, err
	}
	trace = append(trace, fmt.Sprint("kept ", values.Len()))
	for {
		v, ok, err := values.Receive(ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		trace = append(trace, fmt.Sprint("got ", v))
	}
	_, err := producer.Await(ctx)
	trace = append(trace, fmt.Sprint(values.Send(ctx, 9)))
	return trace, err
})

func TestChannel(t *testing.T) {
	t.Parallel()
	for capacity, want := range map[int][]string{
		0: {
			"kept 1", "got 0", "sent 0", "sent 1", "got 1", "got 2", "sent 2", "sent 3", "got 3",
			"the channel is closed",
		},
		2: {
			"sent 0", "sent 1", "kept 2", "got 0", "got 1", "got 2", "sent 2", "sent 3", "got 3",
			"the channel is closed",
		},
		9: {
			"sent 0", "sent 1", "sent 2", "sent 3", "kept 4", "got 0", "got 1", "got 2", "got 3",
			"the channel is closed",
		},
	} {
		got, _, err := run(t, channelled, capacity)
		require.NoError(t, err)
		require.Equal(t, want, got, "capacity %d", capacity)
	}
}

// A value whose sender gives up is not received by anyone.
var takenBack = cruster.NewWorkflow("test.takenBack", func(ctx cruster.Context, _ int) ([]string, error) {
	values := cruster.NewChannel[string](0)
	hurried, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(time.Second))
	defer cancel()
	trace := []string{fmt.Sprint(values.Send(hurried, "too late"))}
	cruster.Go(ctx, func(ctx cruster.Context) error { return values.Send(ctx, "in time") })
	v, _, err := values.Receive(ctx)
	return append(trace, v), err
})

func TestChannelTakesBack(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, takenBack, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"timed out", "in time"}, got)
}

// A send has ended once its value was received, also if another one follows it.
var overtaken = cruster.NewWorkflow("test.overtaken", func(ctx cruster.Context, _ int) ([]string, error) {
	var trace []string
	values := cruster.NewChannel[string](0)
	send := func(name string) {
		cruster.Go(ctx, func(ctx cruster.Context) error {
			trace = append(trace, fmt.Sprint(name, " ", values.Send(ctx, name)))
			return nil
		})
	}
	send("a")
	send("c")
	receiver := cruster.Go(ctx, func(ctx cruster.Context) error {
		for range 2 {
			v, _, err := values.Receive(ctx)
			trace = append(trace, fmt.Sprint("got ", v, " ", err))
		}
		return nil
	})
	send("d")
	if _, err := receiver.Await(ctx); err != nil {
		return nil, err
	}
	return trace, cruster.Sleep(ctx, time.Second)
})

func TestChannelSendIsOverWhenReceived(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, overtaken, 0)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"got a <nil>", "got c <nil>", "a <nil>", "c <nil>"}, got)
}

// A deadlock of coroutines waiting for each other is reported, as others are.
var stuck = cruster.NewWorkflow("test.stuck", func(ctx cruster.Context, _ int) (int, error) {
	v, _, err := cruster.NewChannel[int](0).Receive(ctx)
	return v, err
})

func TestChannelDeadlock(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, stuck, 0)
	require.ErrorContains(t, err, "CR-4012")
}
