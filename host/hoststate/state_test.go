package hoststate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hoststate"
)

func TestAccepting(t *testing.T) {
	t.Parallel()
	l := hoststate.New()
	require.ErrorContains(t, l.Accepting(), "starting")
	l.MarkStarted()
	<-l.Started()
	require.NoError(t, l.Accepting())
	require.False(t, l.Draining())

	l.Drain()
	require.True(t, l.Draining())
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(l.Accepting()))
	require.False(t, l.Over(), "what runs may finish")
	l.End()
	require.True(t, l.Over())
}

func TestLose(t *testing.T) {
	t.Parallel()
	l := hoststate.New()
	l.MarkStarted()
	require.NoError(t, l.Lost())
	first := abi.Errorf(abi.CodeFenced, "another host has taken over")
	require.True(t, l.Lose(first))
	require.False(t, l.Lose(abi.Errorf(abi.CodeFenced, "and another")))
	require.Equal(t, first, l.Lost())
	require.Equal(t, first, l.Accepting())
	require.True(t, l.Over())
}
