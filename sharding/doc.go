// Package sharding tells which host owns which shard.
//
// A shard is a slice of the key space. Its owner decides the order of all that happens to the executions in it, and
// proves with each write that it still is the owner: the write names the fence under which it was decided, and the
// store refuses any other than the current one. A host that was paused, cut off or declared dead can therefore do no
// harm, even while it still believes that it is the owner.
//
// For now one host owns all shards, and the latest to start wins. The package imports journal and nothing else of
// Cruster.
package sharding
