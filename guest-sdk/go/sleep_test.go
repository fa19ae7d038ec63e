package cruster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// sleeping sleeps in every way, and returns how long each sleep took.
var sleeping = cruster.NewWorkflow("test.sleeping", func(ctx cruster.Context, _ int) ([]time.Duration, error) {
	start := cruster.Now(ctx)
	var took []time.Duration
	for _, sleep := range []func() error{
		func() error { return cruster.Sleep(ctx, time.Hour) },
		func() error { return cruster.Sleep(ctx, 0) },
		func() error { return cruster.Sleep(ctx, -time.Hour) },
		func() error { return cruster.SleepUntil(ctx, start.Add(90*time.Minute)) },
		func() error { return cruster.SleepUntil(ctx, start) },
		func() error { _, err := cruster.Timer(ctx, time.Minute).Await(ctx); return err },
	} {
		before := cruster.Now(ctx)
		if err := sleep(); err != nil {
			return nil, err
		}
		took = append(took, cruster.Now(ctx).Sub(before))
	}
	return took, nil
})

func TestSleep(t *testing.T) {
	t.Parallel()
	took, h, err := run(t, sleeping, 0)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{time.Hour, 0, 0, 30 * time.Minute, 0, time.Minute}, took)
	require.Len(t, h.Steps(), 6, "a sleep that is over at once is an op too")
}
