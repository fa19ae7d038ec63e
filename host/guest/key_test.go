package guest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func newKeyDeriver() *KeyDeriver {
	clock := clockwork.NewRealClock()
	return NewKeyDeriver(KeyDeps{Clock: clock, Memory: budget.New(1 << 30), Slots: NewSlots(clock, time.Minute)})
}

// TestDerive derives keys that need no guest.
func TestDerive(t *testing.T) {
	t.Parallel()
	d := &KeyDeriver{}
	fromRequest := &abi.WorkflowInfo{Name: "W", Key: abi.KeyFromRequest}
	input := abi.MustMarshal(map[string]any{"a": 1, "b": "x"})
	derived, err := hash.Of(input)
	require.NoError(t, err)
	for _, c := range []struct {
		name, given, mode, want string
		code                    abi.Code
	}{
		{"of the request", "", abi.KeyDerived, derived, ""},
		{"a key that is not used", "ignored", abi.KeyDerived, derived, ""},
		{"raw", "order-7", abi.KeyRaw, "order-7", ""},
		{"hashed", "order-7", abi.KeyHashed, hash.OfString("order-7"), ""},
		{"raw and empty", "", abi.KeyRaw, "", abi.CodeBadKey},
		{"hashed and empty", "", abi.KeyHashed, "", abi.CodeBadKey},
		{"hashed and too long", strings.Repeat("k", abi.MaxKey+1), abi.KeyHashed, "", abi.CodeBadKey},
		{"unknown mode", "k", "upside-down", "", abi.CodeBadKey},
	} {
		got, err := d.Derive(t.Context(), KeyRequest{Workflow: fromRequest, Input: input, Given: c.given, Mode: c.mode})
		require.Equal(t, c.code, abi.CodeOf(err), c.name)
		if err == nil {
			require.Equal(t, c.want, got, c.name)
		}
	}

	// The same request, whatever its encoder preferred, has the same key.
	got, err := d.Derive(t.Context(), KeyRequest{
		Workflow: fromRequest,
		Input:    []byte("\x82\xa1b\xd9\x01x\xa1a\xd3\x00\x00\x00\x00\x00\x00\x00\x01"),
		Mode:     abi.KeyDerived,
	})
	require.NoError(t, err)
	require.Equal(t, derived, got)
}

// TestDeriveFromFunction asks a module for the key.
func TestDeriveFromFunction(t *testing.T) {
	t.Parallel()
	d := newKeyDeriver()
	hashOf := func(v any) string {
		hash, err := hash.Of(abi.MustMarshal(v))
		require.NoError(t, err)
		return hash
	}
	value := func(v any) *abi.Outcome { return &abi.Outcome{Value: abi.MustMarshal(v)} }
	failure := func(code abi.Code) *abi.Outcome { return &abi.Outcome{Error: abi.Errorf(code, "no")} }
	for name, c := range map[string]struct {
		mode    string
		outcome *abi.Outcome
		want    string
		code    abi.Code
	}{
		"raw":               {abi.KeyFromFunctionRaw, value("order-7"), "order-7", ""},
		"hashed":            {abi.KeyFromFunctionHashed, value([]any{"order", 7}), hashOf([]any{"order", 7}), ""},
		"raw and no string": {abi.KeyFromFunctionRaw, value(7), "", abi.CodeKeyFunction},
		"raw and empty":     {abi.KeyFromFunctionRaw, value(""), "", abi.CodeBadKey},
		"it fails":          {abi.KeyFromFunctionRaw, failure(abi.CodeActivityFailed), "", abi.CodeKeyFunction},
		"the input is bad":  {abi.KeyFromFunctionRaw, failure(abi.CodeBadInput), "", abi.CodeBadInput},
		"it parks":          {abi.KeyFromFunctionRaw, nil, "", abi.CodeKeyFunction},
	} {
		code := compile(t, wasmtest.Program{Outcome: c.outcome})
		got, err := d.Derive(t.Context(), KeyRequest{
			Code: code, Workflow: &abi.WorkflowInfo{Name: "W", Key: c.mode}, Input: abi.Nil, Mode: abi.KeyDerived,
		})
		require.Equal(t, c.code, abi.CodeOf(err), "%s: %v", name, err)
		if err == nil {
			require.Equal(t, c.want, got, name)
		}
		if c.code == abi.CodeBadKey {
			require.ErrorContains(t, err, `the key function of "W" returned an empty text`)
		}
	}
}

// TestKeyOfAHostThatFails asks a host that cannot run the key function. That says nothing about the request.
func TestKeyOfAHostThatFails(t *testing.T) {
	t.Parallel()
	d := newKeyDeriver()
	runtime, err := wasm.New(t.Context(), wasm.Config{})
	require.NoError(t, err)
	code, err := runtime.Compile(t.Context(), wasmtest.Program{}.Assemble())
	require.NoError(t, err)
	derive := func(ctx context.Context) abi.Code {
		_, err := d.Derive(ctx, KeyRequest{
			Code:     code,
			Workflow: &abi.WorkflowInfo{Name: "W", Key: abi.KeyFromFunctionRaw},
			Input:    abi.Nil,
			Mode:     abi.KeyDerived,
		})
		return abi.CodeOf(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	require.Equal(t, abi.CodeDeadline, derive(gone))
	require.NoError(t, runtime.Close(t.Context()))
	require.Equal(t, abi.CodeShuttingDown, derive(t.Context()))
}

// TestFuelOfAKeyFunction counts the fuel of a key function for its namespace, and stops a function
// that exceeds its limit.
func TestFuelOfAKeyFunction(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	clock := clockwork.NewRealClock()
	d := NewKeyDeriver(KeyDeps{
		Clock: clock, Fuel: 10_000, Memory: budget.New(1 << 30), Registerer: reg, Slots: NewSlots(clock, time.Minute),
	})
	request := KeyRequest{
		Namespace: "acme", Code: compile(t, wasmtest.Program{Outcome: &abi.Outcome{Value: abi.MustMarshal("k")}}),
		Workflow: &abi.WorkflowInfo{Name: "W", Key: abi.KeyFromFunctionRaw}, Input: abi.Nil, Mode: abi.KeyDerived,
	}
	key, err := d.Derive(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "k", key)
	families, err := reg.Gather()
	require.NoError(t, err)
	used := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "cruster_key_function_fuel_total" {
				used[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	require.Len(t, used, 1)
	require.Positive(t, used["acme"])

	runtime, err := wasm.New(t.Context(), wasm.Config{})
	require.NoError(t, err)
	request.Code, err = runtime.Compile(
		t.Context(), wasmtest.Module{Start: wasmtest.Join(wasmtest.Endless, wasmtest.I32Const(0))}.Assemble(),
	)
	require.NoError(t, err)
	_, err = d.Derive(t.Context(), request)
	require.Equal(t, abi.CodeKeyFunction, abi.CodeOf(err), "%v", err)
	require.Contains(t, err.Error(), "has used up its fuel")
}
