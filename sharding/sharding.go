package sharding

import (
	"context"
	"fmt"

	"github.com/cruster/cruster/journal"
)

// Claimer is the part of a store that hands out fences.
type Claimer interface {
	ClaimShards(ctx context.Context, owner string) ([]journal.Fence, error)
}

// Ownership is the fences under which a host owns its shards.
type Ownership struct {
	fences []journal.Fence
}

// Claim takes all shards for owner and fences the previous owner.
func Claim(ctx context.Context, store Claimer, owner string) (*Ownership, error) {
	fences, err := store.ClaimShards(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("claim shards for %s: %w", owner, err)
	}
	if len(fences) != journal.NumShards {
		return nil, fmt.Errorf("claim shards for %s: the store has %d, not %d", owner, len(fences), journal.NumShards)
	}
	return &Ownership{fences: fences}, nil
}

// Fence is the fence under which the host owns a shard.
func (o *Ownership) Fence(s journal.Shard) journal.Fence { return o.fences[s] }

// Fences are the fences of all shards.
func (o *Ownership) Fences() []journal.Fence { return o.fences }
