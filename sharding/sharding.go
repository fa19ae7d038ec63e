// Package sharding tells which host owns which shard.
//
// A shard is a slice of the key space. Its owner decides the order of all that
// happens to the executions in it, and proves with each write that it still is
// the owner: the write names the epoch under which it was decided, and the store
// refuses any other than the current one. A host that was paused, cut off or
// declared dead can therefore do no harm, even while it still believes that it is
// the owner.
//
// For now one host owns all shards, and the latest to start wins. The package
// imports journal and nothing else of Cruster.
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
