package host

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal/memory"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c, err := Config{Store: memory.New()}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, time.Minute, c.ActivityTimeout)
	require.Equal(t, 10*time.Second, c.DrainTimeout)
	require.Equal(t, 10*time.Second, c.TurnTimeout)
	require.Equal(t, 30*time.Second, c.IdleTimeout)
	require.Zero(t, c.Retention, "finished executions are kept for ever")
	require.Equal(t, 128, c.MaxActivities)
	require.Equal(t, 20_000, c.MaxExecutions)
	require.Equal(t, budget.OfMachine(), c.Memory)
	require.NotEmpty(t, c.Name)
	require.NotNil(t, c.Logger)
	require.NotNil(t, c.Clock)

	clock := clockwork.NewFakeClock()
	c, err = Config{Store: memory.New(), Clock: clock, Memory: 7, Name: "a"}.withDefaults()
	require.NoError(t, err)
	require.EqualValues(t, 7, c.Memory)
	require.Equal(t, "a", c.Name)
	require.Same(t, clock, c.Egress.Clock, "all of a host has one clock")
}

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"Store":         {},
		"TurnTimeout":   {Store: memory.New(), TurnTimeout: -1},
		"Retention":     {Store: memory.New(), Retention: -1},
		"MaxExecutions": {Store: memory.New(), MaxExecutions: -1},
	} {
		_, err := New(c)
		require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err), name)
		require.ErrorContains(t, err, name)
	}
}
