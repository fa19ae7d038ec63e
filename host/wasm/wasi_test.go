package wasm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

func TestStreams(t *testing.T) {
	t.Parallel()
	var out, stderr []string
	var level int32
	var message string
	i := newProbe(t, wasm.World{
		Log:    func(l int32, m []byte) { level, message = l, string(m) },
		Stdout: func(line []byte) { out = append(out, string(line)) },
		Stderr: func(line []byte) { stderr = append(stderr, string(line)) },
	})
	_, err := i.Start(context.Background(), []byte("log take note"))
	require.NoError(t, err)
	require.Equal(t, []string{"out one", "out two", "no end"}, out)
	require.Equal(t, []string{"err one"}, stderr)
	require.Equal(t, abi.LogWarn, level)
	require.Equal(t, "take note", message)
}

func TestSleepOfTheWorld(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	i := newProbe(t, wasm.World{
		Clock: func() time.Time { return now },
		Sleep: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			return nil
		},
	})
	turn, err := i.Start(context.Background(), []byte("nap"))
	require.NoError(t, err)
	require.Equal(t, "slept", string(turn.Output))
	require.Equal(t, time.Unix(1_700_000_001, 0), now)
}

func TestAnOrdinaryProgramDoesNotBlock(t *testing.T) {
	t.Parallel()
	turn, err := newProbe(t, wasm.World{}).Start(context.Background(), []byte("churn"))
	require.NoError(t, err)
	require.Equal(t, "16000000", string(turn.Output))
}
