package op_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	activity := func(change func(*abi.Activity)) journal.Op {
		a := abi.Activity{Name: "pay", Input: abi.MustMarshal(map[string]any{"a": 1, "b": 2})}
		change(&a)
		o, err := op.New(abi.OpActivity, abi.MustMarshal(a), 7, 1)
		require.Nil(t, err)
		return o.Op
	}
	plain := activity(func(*abi.Activity) {})
	// The first half of the SHA-256 of {"a": 1, "b": 2} in msgpack, as any other program computes it.
	hash, err := hex.DecodeString("19f2a1aa9670884ef43ef46ffbe4a62a")
	require.NoError(t, err)
	require.Equal(t, journal.Op{Kind: abi.OpActivity, Name: "pay", Number: 7, Hash: hash}, plain)
	same := map[string]func(*abi.Activity){
		"another timeout":       func(a *abi.Activity) { a.Timeout = 5 },
		"another retry policy":  func(a *abi.Activity) { a.Retry.Retries = 5 },
		"fields in other order": func(a *abi.Activity) { a.Input = []byte("\x82\xa1b\x02\xa1a\x01") },
		"a longer integer":      func(a *abi.Activity) { a.Input = []byte("\x82\xa1a\xd2\x00\x00\x00\x01\xa1b\x02") },
	}
	for name, change := range same {
		require.Equal(t, plain, activity(change), name)
	}
	require.NotEqual(t, plain.Hash, activity(func(a *abi.Activity) { a.Input = abi.Nil }).Hash)
	keyed := activity(func(a *abi.Activity) { a.Key = "k" })
	require.Equal(
		t, journal.Op{Kind: abi.OpActivity, Name: "pay", Number: 7, Key: "k"}, keyed, "a key stands for the arguments",
	)
}

// TestIdentityOfPayloads shows that the identity of an op does not depend on how the encoder of a language orders the
// fields of the payload.
func TestIdentityOfPayloads(t *testing.T) {
	t.Parallel()
	sorted := []byte{0x82, 0xa1, 'a', 1, 0xa1, 'b', 2}
	asDeclared := []byte{0x82, 0xa1, 'b', 2, 0xa1, 'a', 0xcc, 1}
	for kind, body := range map[string]func(value []byte) any{
		abi.OpActivity: func(v []byte) any { return abi.Activity{Name: "n", Input: v} },
		abi.OpCall:     func(v []byte) any { return abi.Call{Workflow: "W", Input: v} },
		abi.OpSend:     func(v []byte) any { return abi.Call{Workflow: "W", Input: v} },
		abi.OpResolve:  func(v []byte) any { return abi.Resolve{Name: "n", Value: v} },
		"resolve with an error": func(v []byte) any {
			return abi.Resolve{Name: "n", Error: &abi.Error{Message: "no", Details: v}}
		},
	} {
		hash := func(value []byte) []byte {
			kind, _, _ := strings.Cut(kind, " ")
			o, err := op.New(kind, abi.MustMarshal(body(value)), 7, 0)
			require.Nil(t, err)
			return o.Hash
		}
		require.Equal(t, hash(sorted), hash(asDeclared), kind)
		require.NotEqual(t, hash(sorted), hash([]byte{0x82, 0xa1, 'a', 1, 0xa1, 'b', 3}), kind)
		if kind != abi.OpActivity && kind != abi.OpCall && kind != abi.OpSend {
			// A body that is canonical throughout is hashed as it is.
			sum := sha256.Sum256(abi.MustMarshal(body(sorted)))
			require.Equal(t, sum[:16], hash(sorted), kind)
		}
	}
}

// TestIdentityOfCalls shows that a call is the same step whatever becomes of its callee when it is given up, and the
// same that it was for modules which could not say so.
func TestIdentityOfCalls(t *testing.T) {
	t.Parallel()
	old := map[string]any{"input": abi.MustMarshal("x"), "key": "k", "key_mode": abi.KeyRaw, "workflow": "W"}
	sum := sha256.Sum256(abi.MustMarshal(old))
	for _, body := range []any{
		old,
		abi.Call{Input: abi.MustMarshal("x"), Key: "k", KeyMode: abi.KeyRaw, Workflow: "W"},
		abi.Call{
			Input: abi.MustMarshal("x"), Key: "k", KeyMode: abi.KeyRaw, Workflow: "W", OnCancel: abi.OnCancelCancel,
		},
	} {
		o, err := op.New(abi.OpCall, abi.MustMarshal(body), 7, 0)
		require.Nil(t, err)
		require.Equal(t, sum[:16], o.Hash)
	}
}
