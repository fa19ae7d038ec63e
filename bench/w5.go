package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	client "github.com/cruster/cruster/clients/go"
)

// W5 is the latency of messages, one at a time: of a start until it is durable, of a settled deferred, a signal and an
// interrupt until the workflow has ended.
func runW5(ctx context.Context, m *meter) error {
	host := m.host()
	times, err := m.repeat(ctx, 1, func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		err := host.start(ctx, operation{Kind: "Sequence", Key: m.key()})
		return time.Since(start), err
	})
	if err != nil {
		return err
	}
	if err := m.latencies("start", times); err != nil {
		return err
	}
	for _, message := range []struct {
		name string
		send func(ctx context.Context, run client.Run[int64]) error
		ends func(value int64, err error) error
	}{
		{
			"settle", func(ctx context.Context, run client.Run[int64]) error { return run.Resolve(ctx, "settled", 7) },
			settled,
		},
		{"signal", func(ctx context.Context, run client.Run[int64]) error {
			return client.Signal[int64]("signalled").Send(ctx, m.host().client, run.Execution(), 7)
		}, settled},
		{
			"interrupt", func(ctx context.Context, run client.Run[int64]) error { return run.Interrupt(ctx, "enough") },
			interrupted,
		},
	} {
		// As many as were started in the time, so that this takes about as long.
		times, err := m.messages(ctx, min(200, len(times)), message.send, message.ends)
		if err != nil {
			return fmt.Errorf("%s: %w", message.name, err)
		}
		if err := m.latencies(message.name, times); err != nil {
			return err
		}
	}
	return nil
}

func settled(value int64, err error) error {
	if err == nil && value != 7 {
		return fmt.Errorf("the workflow returned %d", value)
	}
	return err
}

func interrupted(_ int64, err error) error {
	var ended *client.RunError
	if errors.As(err, &ended) && ended.State == client.Interrupted {
		return nil
	}
	return fmt.Errorf("the workflow was not interrupted: %w", err)
}

// messages has n executions wait, and then sends each one message.
func (m *meter) messages(
	ctx context.Context, n int, send func(context.Context, client.Run[int64]) error, ends func(int64, error) error,
) ([]float64, error) {
	runs, err := m.waiters(ctx, n, 0)
	if err != nil {
		return nil, err
	}
	times := make([]float64, n)
	err = m.measure(ctx, func() (int, error) {
		for i, run := range runs {
			start := time.Now()
			if err := send(ctx, run); err != nil {
				return 0, err
			}
			value, err := run.Wait(ctx)
			times[i] = milliseconds(time.Since(start))
			if err := ends(value, err); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	return times, err
}

// waiters starts executions that take some steps and then wait, and returns when all of them do: a turn for the start
// and one for each step, as nothing else runs.
func (m *meter) waiters(ctx context.Context, n, steps int) ([]client.Run[int64], error) {
	host := m.host()
	before, err := host.metric(ctx, "cruster_turns_total")
	if err != nil {
		return nil, err
	}
	runs := make([]client.Run[int64], n)
	err = m.each(ctx, n, m.plan.sizes.clients, func(ctx context.Context, i int) (err error) {
		runs[i], err = host.workflow("Waiter").Start(ctx, request{Run: m.key(), N: int64(steps)})
		return err
	})
	if err != nil {
		return nil, err
	}
	return runs, host.parked(ctx, before, n*(steps+1))
}
