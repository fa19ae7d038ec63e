package grpcserver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLifetime(t *testing.T) {
	t.Parallel()
	l := newLifetime()
	require.False(t, l.over())
	waiting, cancel := l.bound(t.Context())
	defer cancel()
	left, leave := l.bound(t.Context())
	leave()
	require.ErrorIs(t, left.Err(), context.Canceled)
	require.NoError(t, waiting.Err(), "the others go on")

	l.end()
	require.True(t, l.over())
	<-waiting.Done()
	late, cancel := l.bound(t.Context())
	defer cancel()
	<-late.Done()
}
