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
	epochs []journal.Epoch
	err    error
}

func (c claimer) ClaimShards(context.Context, string) ([]journal.Epoch, error) {
	return c.epochs, c.err
}

func TestTheLatestClaimWins(t *testing.T) {
	t.Parallel()
	store := memory.New()
	first, err := sharding.Claim(t.Context(), store, "first")
	require.NoError(t, err)
	second, err := sharding.Claim(t.Context(), store, "second")
	require.NoError(t, err)
	for shard := range journal.Shard(journal.NumShards) {
		require.Greater(t, second.Epoch(shard), first.Epoch(shard))
	}
}

func TestClaimsThatFail(t *testing.T) {
	t.Parallel()
	down := errors.New("no connection")
	_, err := sharding.Claim(t.Context(), claimer{err: down}, "host")
	require.ErrorIs(t, err, down)
	require.ErrorContains(t, err, "claim shards for host")
	_, err = sharding.Claim(t.Context(), claimer{epochs: make([]journal.Epoch, 3)}, "host")
	require.ErrorContains(t, err, "the store has 3, not 256")
}
