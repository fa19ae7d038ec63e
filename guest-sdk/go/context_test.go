package cruster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

type facts struct {
	ID     string    `json:"id"`
	Now    time.Time `json:"now"`
	Later  time.Time `json:"later"`
	UUID   string    `json:"uuid"`
	Number int       `json:"number"`
}

var inspecting = cruster.NewWorkflow("test.inspecting", func(ctx cruster.Context, _ int) (facts, error) {
	f := facts{
		ID:     cruster.ExecutionID(ctx),
		Now:    cruster.Now(ctx),
		UUID:   cruster.UUID(ctx),
		Number: cruster.Rand(ctx).IntN(1 << 30),
	}
	cruster.Logger(ctx).With("a", 1).WithGroup("g").Info("hello there", "b", "two words")
	err := cruster.SleepUntil(ctx, f.Now.Add(36*time.Hour))
	f.Later = cruster.Now(ctx)
	return f, err
})

func TestClockAndRandom(t *testing.T) {
	t.Parallel()
	start := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	a, _, err := run(t, inspecting, 0, crustertest.ExecutionID("d/w/k"), crustertest.StartTime(start))
	require.NoError(t, err)
	require.Equal(t, "d/w/k", a.ID)
	require.True(t, a.Now.Equal(start))
	require.True(t, a.Later.Equal(start.Add(36*time.Hour)))
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, a.UUID)

	b, _, err := run(t, inspecting, 0, crustertest.ExecutionID("d/w/k"))
	require.NoError(t, err)
	require.Equal(t, a.UUID, b.UUID, "random numbers depend only on the execution id")
	require.Equal(t, a.Number, b.Number)
	c, _, err := run(t, inspecting, 0, crustertest.ExecutionID("d/w/other"))
	require.NoError(t, err)
	require.NotEqual(t, a.UUID, c.UUID)
}

func TestEmptyContextIsRefused(t *testing.T) {
	t.Parallel()
	require.PanicsWithError(
		t, "CR-4002: Sleep was called with an empty cruster.Context: pass on the one that the workflow was given",
		func() { _ = cruster.Sleep(cruster.Context{}, time.Second) },
	)
}
