package sharding_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
	"github.com/cruster/cruster/sharding"
)

type claimer struct {
	fences []journal.Fence
	err    error
}

func (c claimer) ClaimShards(context.Context, string) ([]journal.Fence, error) {
	return c.fences, c.err
}

func TestTheLatestClaimWins(t *testing.T) {
	t.Parallel()
	store := memory.New()
	first, err := sharding.Claim(t.Context(), store, "first")
	require.NoError(t, err)
	second, err := sharding.Claim(t.Context(), store, "second")
	require.NoError(t, err)
	for shard := range journal.Shard(journal.NumShards) {
		require.Greater(t, second.Fence(shard).Epoch, first.Fence(shard).Epoch)
		require.NotEqual(t, second.Fence(shard).Token, first.Fence(shard).Token)
		require.Equal(t, second.Fence(shard), second.Fences()[shard])
	}
}

func TestClaimsThatFail(t *testing.T) {
	t.Parallel()
	down := errors.New("no connection")
	_, err := sharding.Claim(t.Context(), claimer{err: down}, "host")
	require.ErrorIs(t, err, down)
	require.ErrorContains(t, err, "claim shards for host")
	_, err = sharding.Claim(t.Context(), claimer{fences: make([]journal.Fence, 3)}, "host")
	require.ErrorContains(t, err, "the store has 3, not 1024")
}
