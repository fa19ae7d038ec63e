package rpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

func TestDeferredsAreSettled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var got journal.Deferred
	b.engine.settle = func(_ context.Context, _, _ string, d journal.Deferred) error {
		got = d
		return nil
	}

	_, err := b.deferreds.Resolve(t.Context(), &crusterv1.ResolveRequest{Execution: "a/B/c", Name: "d", Value: jsonPayload(`{"ok":true}`)})
	require.NoError(t, err)
	require.Equal(t, journal.Deferred{Name: "d", Value: abi.MustMarshal(map[string]any{"ok": true})}, got)

	_, err = b.deferreds.Resolve(t.Context(), &crusterv1.ResolveRequest{Execution: "a/B/c", Name: "d"})
	require.NoError(t, err)
	require.Equal(t, abi.Nil, got.Value)

	_, err = b.deferreds.Reject(t.Context(), &crusterv1.RejectRequest{Execution: "a/B/c", Name: "d", Message: "no", Type: "t"})
	require.NoError(t, err)
	require.Equal(t, abi.CodeDeferredRejected, got.Error.Code)
	require.Equal(t, "t", got.Error.Type)
	require.Nil(t, got.Value)
}
