package op

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// hashSize is how much of a SHA-256 stands for the arguments of an op.
const hashSize = 16

// argumentHash tells an op from others of its kind and name.
func argumentHash(decoded any, body []byte) ([]byte, error) {
	canonical, err := canonicalArguments(decoded, body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(canonical)
	return sum[:hashSize], nil
}

// callIdentity is the part of an [abi.Call] that identifies its op. The fate of the callee if the op is given up
// may be changed while runs are under way.
type callIdentity struct {
	Input    []byte `msgpack:"input"`
	Key      string `msgpack:"key"`
	KeyMode  string `msgpack:"key_mode"`
	Workflow string `msgpack:"workflow"`
}

// canonicalArguments is the part of a body that identifies its op, in canonical form. A value that a body carries is
// bytes to [abi.Canonical], which leaves them as they are. So that two languages agree on it, it is made canonical by
// itself.
func canonicalArguments(decoded any, body []byte) ([]byte, error) {
	switch b := decoded.(type) {
	case *abi.Activity:
		return abi.Canonical(b.Input)
	case *abi.Call:
		return abi.Marshal(callIdentity{
			Input: canonicalOrSame(b.Input), Key: b.Key, KeyMode: b.KeyMode, Workflow: b.Workflow,
		})
	case *abi.Resolve:
		resolve := *b
		resolve.Value = canonicalOrSame(b.Value)
		if b.Error != nil {
			rejection := *b.Error
			rejection.Details = canonicalOrSame(rejection.Details)
			resolve.Error = &rejection
		}
		return abi.Marshal(resolve)
	default:
		return abi.Canonical(body)
	}
}

// canonicalOrSame is the canonical form of a value, or the value itself if it is not msgpack: the details of an error
// may be anything.
func canonicalOrSame(value []byte) []byte {
	if c, err := abi.Canonical(value); err == nil {
		return c
	}
	return value
}

// Same tells whether two ops are one: the same number and the same identity.
func Same(a, b journal.Op) bool {
	return a.Number == b.Number && a.Kind == b.Kind && a.Name == b.Name && a.Key == b.Key &&
		bytes.Equal(a.Hash, b.Hash) &&
		a.Occurrence == b.Occurrence
}

// Describe renders an op for people: `op 3 activity "charge" key "42"`.
func Describe(o journal.Op) string {
	s := fmt.Sprintf("op %d %s", o.Number, o.Kind)
	if o.Name != "" {
		s += fmt.Sprintf(" %q", o.Name)
	}
	if o.Key != "" {
		return s + fmt.Sprintf(" key %q", o.Key)
	}
	return s + " arguments " + hex.EncodeToString(o.Hash[:min(len(o.Hash), 4)])
}
