package journal

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

// Epoch counts the owners that a shard has had.
type Epoch uint64

// Token tells an owner of a shard from every other, also from one of the same epoch.
type Token [16]byte

// NewToken draws a token.
func NewToken() Token {
	var t Token
	_, _ = rand.Read(t[:]) // it never fails
	return t
}

func (t Token) String() string { return hex.EncodeToString(t[:]) }

// Fence is the owner's proof that it owns a shard: every write names the fence under which it was
// decided, and a store refuses all but the current one, in the transaction of the write.
//
// The epoch alone would do as long as a store forgets nothing. A database that fails over to a replica which had not
// seen the last claim does: the next claim counts to the same epoch again, and two hosts would pass. They do not have
// the same token.
type Fence struct {
	Epoch Epoch
	Token Token
}

func (f Fence) String() string { return fmt.Sprintf("%d/%.8s", f.Epoch, f.Token) }

// Owned are the fences of a host by shard, one for each: zero for a shard that it does not own.
type Owned []Fence

// Check refuses fences that are not one for each shard.
func (o Owned) Check() error {
	if len(o) != NumShards {
		return fmt.Errorf("%w: the owner names the fences of %d shards, not %d", ErrFenced, len(o), NumShards)
	}
	return nil
}

// Has tells whether the host owns a shard.
func (o Owned) Has(s Shard) bool { return o[s] != Fence{} }

// From are the shards that the host owns, from one on.
func (o Owned) From(first Shard) (shards []Shard) {
	for s := first; int(s) < len(o); s++ {
		if o.Has(s) {
			shards = append(shards, s)
		}
	}
	return shards
}
