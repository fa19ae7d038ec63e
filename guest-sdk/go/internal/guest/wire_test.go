package guest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
)

var (
	someText  = rapid.OneOf(rapid.String(), rapid.StringN(0, 300, -1))
	someBytes = rapid.OneOf(
		rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte()), rapid.SliceOfN(rapid.Byte(), 200, 70_000),
	)
	// someUnread is nil more often than not, as it is.
	someUnread = rapid.OneOf(rapid.Just([]string(nil)), rapid.Just([]string{"paid", ""}))
	someError  = rapid.Custom(func(t *rapid.T) *abi.Error {
		if rapid.Bool().Draw(t, "no error") {
			return nil
		}
		return &abi.Error{
			Code:      abi.CodeActivityFailed,
			Message:   someText.Draw(t, "message"),
			Details:   someBytes.Draw(t, "details"),
			Retryable: rapid.Bool().Draw(t, "retryable"),
		}
	})
)

// The encoder of this package writes the same bytes as abi's.
func TestEncodeBodyAgreesWithABI(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bodies := []any{
			abi.Interrupted{},
			abi.Unlock{},
			abi.Update{},
			abi.Answer{
				Error: someError.Draw(t, "error"), ID: someText.Draw(t, "id"), Value: someBytes.Draw(t, "value"),
			},
			abi.Sleep{Duration: rapid.Int64().Draw(t, "duration"), Name: someText.Draw(t, "name")},
			abi.Deferred{Name: someText.Draw(t, "name")},
			abi.EntityMessage{
				Entity:    someText.Draw(t, "entity"),
				Input:     someBytes.Draw(t, "input"),
				Operation: someText.Draw(t, "operation"),
			},
			abi.Receive{Name: someText.Draw(t, "name")},
			abi.Signal{
				Execution: someText.Draw(t, "execution"),
				Name:      someText.Draw(t, "name"),
				Value:     someBytes.Draw(t, "value"),
			},
			abi.Resolve{Error: someError.Draw(t, "error"), Name: "n", Value: someBytes.Draw(t, "value")},
			abi.Call{
				Input: someBytes.Draw(t, "input"), Key: someText.Draw(t, "key"), KeyMode: abi.KeyRaw,
				OnCancel: someText.Draw(t, "on cancel"), Workflow: someText.Draw(t, "workflow"),
			},
			abi.Activity{
				Input: someBytes.Draw(t, "input"), Key: someText.Draw(t, "key"), Name: someText.Draw(t, "name"),
				Retry: abi.Retry{
					Backoff: someText.Draw(t, "backoff"), Base: rapid.Int64().Draw(t, "base"),
					Jitter: rapid.Float64().Draw(t, "jitter"), Retries: rapid.Uint32().Draw(t, "retries"),
				},
				Timeout: rapid.Int64().Draw(t, "timeout"),
			},
		}
		for _, b := range bodies {
			require.Equal(t, abi.MustMarshal(b), EncodeBody(b), "%T", b)
		}
		reply := &abi.OperationsReply{State: someBytes.Draw(t, "state"), Version: rapid.Uint32().Draw(t, "version")}
		for range rapid.IntRange(0, 20).Draw(t, "replies") {
			r := abi.OperationReply{Error: someError.Draw(t, "error"), Value: someBytes.Draw(t, "value")}
			for range rapid.IntRange(0, 17).Draw(t, "sent") {
				r.Sent = append(r.Sent, abi.EntityMessage{
					Entity: someText.Draw(t, "entity"), Input: someBytes.Draw(t, "input"), Operation: "o",
				})
			}
			for range rapid.IntRange(0, 2).Draw(t, "started") {
				r.Started = append(r.Started, abi.Call{Input: someBytes.Draw(t, "input"), Workflow: "w"})
			}
			reply.Replies = append(reply.Replies, r)
		}
		if reply.Replies == nil {
			reply.Replies = []abi.OperationReply{}
		}
		require.Equal(t, abi.MustMarshal(reply), EncodeOperationsReply(reply))
		o := &abi.Outcome{Error: someError.Draw(t, "error"), Value: someBytes.Draw(t, "value")}
		require.Equal(t, abi.MustMarshal(o), EncodeOutcome(o))
		o = &abi.Outcome{
			Continue: &abi.Continue{Input: someBytes.Draw(t, "input"), Unread: someUnread.Draw(t, "unread")},
		}
		require.Equal(t, abi.MustMarshal(o), EncodeOutcome(o))
	})
}

func TestDecodeAgreesWithABI(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		inv := abi.Invocation{
			Attempt:        int(rapid.Int64().Draw(t, "attempt")),
			Body:           someBytes.Draw(t, "body"),
			Execution:      someText.Draw(t, "execution"),
			IdempotencyKey: someText.Draw(t, "key"),
			Kind:           abi.InvokeActivity,
			Name:           someText.Draw(t, "name"),
			Namespace:      someText.Draw(t, "namespace"),
			Seed:           someBytes.Draw(t, "seed"),
			Time:           rapid.Int64().Draw(t, "time"),
			Unread:         someUnread.Draw(t, "unread"),
		}
		got, err := DecodeInvocation(abi.MustMarshal(inv))
		require.NoError(t, err)
		require.Equal(t, inv, got)

		var r abi.Resume
		r.Time = rapid.Int64().Draw(t, "time")
		for range rapid.IntRange(0, 20).Draw(t, "deliveries") {
			r.Deliveries = append(r.Deliveries, abi.Delivery{
				Error: someError.Draw(t, "error"), Op: rapid.Uint32().Draw(t, "op"), Value: someBytes.Draw(t, "value"),
			})
		}
		again, err := DecodeResume(abi.MustMarshal(r), nil)
		require.NoError(t, err)
		require.Equal(t, r, again)

		o := abi.Operations{
			Operations: []abi.EntityCall{},
			State:      someBytes.Draw(t, "state"),
			Version:    rapid.Uint32().Draw(t, "version"),
		}
		for range rapid.IntRange(0, 20).Draw(t, "operations") {
			o.Operations = append(o.Operations, abi.EntityCall{
				Input: someBytes.Draw(t, "input"), Operation: someText.Draw(t, "operation"),
			})
		}
		operations, err := DecodeOperations(abi.MustMarshal(o))
		require.NoError(t, err)
		require.Equal(t, o, operations)
	})
}

// A host of a later version may send fields that this SDK does not know.
func TestDecodeIgnoresUnknownFields(t *testing.T) {
	t.Parallel()
	b := abi.MustMarshal(map[string]any{
		"kind": "key", "name": "w", "body": []byte{1},
		"z_map": map[string]any{"a": []any{1, -1, 1.5, float32(2), true, nil, "text", []byte{1}, 1 << 40, -1 << 40}},
		"z_int": -300,
	})
	inv, err := DecodeInvocation(b)
	require.NoError(t, err)
	require.Equal(t, abi.Invocation{Kind: "key", Name: "w", Body: []byte{1}}, inv)
}

func FuzzDecode(f *testing.F) {
	f.Add(abi.MustMarshal(abi.Invocation{Kind: abi.InvokeKey, Body: []byte{1}}))
	f.Add(abi.MustMarshal(abi.Resume{
		Deliveries: []abi.Delivery{{Op: 1, Value: abi.Nil}, {Op: 2, Error: abi.Errorf(abi.CodeSQL, "x")}},
	}))
	f.Add(abi.MustMarshal(abi.Invocation{Kind: abi.InvokeWorkflow, Unread: []string{"paid"}}))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		if inv, err := DecodeInvocation(data); err == nil {
			again, err := DecodeInvocation(abi.MustMarshal(inv))
			require.NoError(t, err)
			require.Equal(t, inv, again)
		}
		if o, err := DecodeOperations(data); err == nil {
			again, err := DecodeOperations(abi.MustMarshal(o))
			require.NoError(t, err)
			require.Len(t, again.Operations, len(o.Operations))
		}
		if r, err := DecodeResume(data, nil); err == nil {
			again, err := DecodeResume(abi.MustMarshal(r), nil)
			require.NoError(t, err)
			require.Len(t, again.Deliveries, len(r.Deliveries))
		}
	})
}
