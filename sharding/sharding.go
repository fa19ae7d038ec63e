package sharding

import (
	"context"
	"fmt"

	"github.com/cruster/cruster/journal"
)

// Claimer is the part of a store that hands out epochs.
type Claimer interface {
	ClaimShards(ctx context.Context, owner string) ([]journal.Epoch, error)
}

// Ownership is the epochs under which a host owns its shards.
type Ownership struct {
	epochs []journal.Epoch
}

// Claim takes all shards for owner and fences the previous owner.
func Claim(ctx context.Context, store Claimer, owner string) (*Ownership, error) {
	epochs, err := store.ClaimShards(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("claim shards for %s: %w", owner, err)
	}
	if len(epochs) != journal.NumShards {
		return nil, fmt.Errorf("claim shards for %s: the store has %d, not %d", owner, len(epochs), journal.NumShards)
	}
	return &Ownership{epochs: epochs}, nil
}

// Epoch is the epoch under which the host owns a shard.
func (o *Ownership) Epoch(s journal.Shard) journal.Epoch { return o.epochs[s] }
