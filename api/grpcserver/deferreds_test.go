package grpcserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/journal"
)

// approvable has a deferred "d" of any type, and typed deferreds that begin with "approve-".
func approvable(context.Context, string, string) (*abi.WorkflowInfo, error) {
	decision := &abi.Schema{
		Type:   abi.TypeStruct,
		Fields: []abi.Field{{Name: "approved", Required: true, Schema: &abi.Schema{Type: abi.TypeBool}}},
	}
	return &abi.WorkflowInfo{Name: "B", Deferreds: []abi.DeferredInfo{
		{Name: "approve-", Dynamic: true, Value: decision},
		{Name: "d"},
		{Name: "price", Value: &abi.Schema{Type: abi.TypeFloat}},
	}}, nil
}

func TestDeferredsAreSettled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.workflowOf = approvable
	var got journal.Deferred
	b.engine.settle = func(_ context.Context, _, _ string, d journal.Deferred) error {
		got = d
		return nil
	}

	_, err := b.deferreds.ResolveDeferred(t.Context(), &crusterv1.ResolveDeferredRequest{
		Execution: "a/B/c", Name: "d", Value: jsonPayload(`{"ok":true}`),
	})
	require.NoError(t, err)
	require.Equal(t, journal.Deferred{Name: "d", Value: abi.MustMarshal(map[string]any{"ok": true})}, got)

	_, err = b.deferreds.ResolveDeferred(t.Context(), &crusterv1.ResolveDeferredRequest{Execution: "a/B/c", Name: "d"})
	require.NoError(t, err)
	require.Nil(t, got.Value, "the engine knows what an absent value means")

	_, err = b.deferreds.RejectDeferred(t.Context(), &crusterv1.RejectDeferredRequest{
		Execution: "a/B/c", Name: "d", Message: "no", Type: "t",
	})
	require.NoError(t, err)
	require.Equal(t, abi.CodeDeferredRejected, got.Error.Code)
	require.Equal(t, "t", got.Error.Type)
	require.Nil(t, got.Value)
}

func TestDeferredsAreTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.engine.workflowOf = approvable
	var got []byte
	b.engine.settle = func(_ context.Context, _, _ string, d journal.Deferred) error {
		got = d.Value
		return nil
	}
	resolve := func(name, json string) error {
		_, err := b.deferreds.ResolveDeferred(t.Context(), &crusterv1.ResolveDeferredRequest{
			Execution: "a/B/c", Name: name, Value: jsonPayload(json),
		})
		return err
	}
	require.NoError(t, resolve("price", "3"))
	require.Equal(t, abi.MustMarshal(3.0), got, "JSON by the type of the deferred")
	require.NoError(t, resolve("approve-bob", `{"approved":true}`))

	b.engine.settle = func(context.Context, string, string, journal.Deferred) error {
		t.Error("nothing may be settled")
		return nil
	}
	err := resolve("approve-bob", `{"aproved":true}`)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(rpcerror.From(err)))
	require.ErrorContains(
		t, err, `the value of deferred approve-bob: unknown field "aproved"; did you mean "approved"?`,
	)
	err = resolve("approve-bob", `{}`)
	require.ErrorContains(t, err, `the field "approved" is missing`)
	err = resolve("aprove-bob", `{"approved":true}`)
	require.Equal(t, abi.CodeUnknownDeferred, abi.CodeOf(rpcerror.From(err)))
	require.ErrorContains(t, err, `did you mean "approve-*"?`)
}
