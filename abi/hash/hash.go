// Package hash hashes values of the ABI: keys of executions and arguments of steps are told apart by it. It is for
// hosts and test kits. Guests do not hash, and package abi must not do it for them: in a Go module the hash alone is a
// hundred functions that every instance has an entry for in its table.
package hash

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/cruster/cruster/abi"
)

// Of is the SHA-256 of the canonical form of a value, in hex.
func Of(value []byte) (string, error) {
	c, err := abi.Canonical(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(c)
	return hex.EncodeToString(sum[:]), nil
}

// OfString is the hash of a key given as a string: it hashes the key's msgpack form.
func OfString(key string) string {
	sum := sha256.Sum256(abi.MustMarshal(key))
	return hex.EncodeToString(sum[:])
}
