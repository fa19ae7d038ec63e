package abi_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

const refusalsFile = "testdata/refusals.json"

// A refusal is the answer of a host to a body that it refuses. The Go test kit calls the same functions
// as the host; kits in other languages are held to this list.
type refusal struct {
	Name string `json:"name"`
	// Kind is an op's; or "key", for a key as text; or "value", for a value that does not fit
	// Schema.
	Kind    string   `json:"kind"`
	Hex     string   `json:"hex"`
	Schema  string   `json:"schema,omitempty"`
	Code    abi.Code `json:"code"`
	Message string   `json:"message"`
	Hint    string   `json:"hint"`
}

func refusedOps() map[string]map[string]any {
	one, long := abi.MustMarshal(1), strings.Repeat("n", abi.MaxName+1)
	far, entity := strings.Repeat("ä\"", 400), strings.Repeat("e/", 600)
	activity := func(change func(*abi.Activity)) abi.Activity {
		a := abi.Activity{Name: "a", Input: one}
		change(&a)
		return a
	}
	twice := []byte{0x82, 0xa1, 'k', 1, 0xa1, 'k', 2}
	return map[string]map[string]any{
		abi.OpActivity: {
			"no name":         activity(func(a *abi.Activity) { a.Name = "" }),
			"a long name":     activity(func(a *abi.Activity) { a.Name = long }),
			"a line break":    activity(func(a *abi.Activity) { a.Name = "a\nb\x00\x7f\u200b" }),
			"a long key":      activity(func(a *abi.Activity) { a.Key = strings.Repeat("k", abi.MaxKey+1) }),
			"a tab in a key":  activity(func(a *abi.Activity) { a.Key = "a\tb" }),
			"a strategy":      activity(func(a *abi.Activity) { a.Retry.Backoff = "linear" }),
			"a negative base": activity(func(a *abi.Activity) { a.Retry.Base = -1 }),
			"much jitter":     activity(func(a *abi.Activity) { a.Retry.Jitter = 1.5 }),
			"no jitter":       activity(func(a *abi.Activity) { a.Retry.Jitter = math.NaN() }),
			"a key twice":     activity(func(a *abi.Activity) { a.Input = twice }),
			"a deep input": activity(func(a *abi.Activity) {
				a.Input = append(bytes.Repeat([]byte{0x91}, abi.MaxDepth+1), 1)
			}),
		},
		abi.OpSleep:    {"a long name": abi.Sleep{Name: long}},
		abi.OpDeferred: {"no name": abi.Deferred{}, "a long name": abi.Deferred{Name: long}},
		abi.OpReceive:  {"no name": abi.Receive{}},
		abi.OpPatched:  {"a long id": abi.Patched{ID: long}},
		abi.OpPoll:     {"a long name": abi.Poll{Execution: far}},
		abi.OpResolve: {
			"no name": abi.Resolve{Value: one}, "a long name": abi.Resolve{Name: "d", Execution: far, Value: one},
		},
		abi.OpSignal: {
			"no name": abi.Signal{Value: one}, "a long name": abi.Signal{Name: "s", Execution: far, Value: one},
		},
		abi.OpInterrupt: {
			"a long reason": abi.Interrupt{Reason: strings.Repeat("r", abi.MaxReason+1)},
			"a long name":   abi.Interrupt{Execution: far},
		},
		abi.OpCall: {
			"a long name": abi.Call{Workflow: far, Input: one},
			"a policy":    abi.Call{Workflow: "w", Input: one, OnCancel: "maybe"},
		},
		abi.OpEntityCall: {
			"a long name":  abi.EntityMessage{Entity: entity, Operation: "o", Input: one},
			"no operation": abi.EntityMessage{Entity: "e/1", Input: one},
		},
		abi.OpLock: {
			"none":        abi.Lock{},
			"many":        abi.Lock{Entities: make([]string, abi.MaxLocked+1)},
			"a long name": abi.Lock{Entities: []string{entity}},
		},
		abi.OpAnswer: {"no id": abi.Answer{Value: one}},
	}
}

// misfits are values with the types that they do not fit.
func misfits() map[string]struct {
	schema abi.Schema
	value  any
} {
	text := abi.Schema{Type: abi.TypeString, Nullable: true}
	order := abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{
		{Name: "cents", Required: true, Schema: &abi.Schema{Type: abi.TypeInt, Bits: 8}},
		{Name: "notes", Schema: &abi.Schema{Type: abi.TypeList, Elem: &text}},
	}}
	type values = map[string]any
	return map[string]struct {
		schema abi.Schema
		value  any
	}{
		"a field that is missing":  {order, values{}},
		"a field that is misspelt": {order, values{"cens": 1}},
		"a field that is unknown":  {order, values{"cents": 1, "zzzzzzzz": 1}},
		"no fields":                {abi.Schema{Type: abi.TypeStruct}, values{"a": 1}},
		"out of range":             {order, values{"cents": 128}},
		"not an integer":           {order, values{"cents": "1"}},
		"within a list":            {order, values{"cents": 1, "notes": []any{"a", 2}}},
		"not a list":               {order, values{"cents": 1, "notes": true}},
		"negative":                 {abi.Schema{Type: abi.TypeUint, Bits: 32}, -1},
		"a 64-bit float":           {abi.Schema{Type: abi.TypeFloat, Bits: 32}, 1.5},
		"within a map": {
			abi.Schema{Type: abi.TypeMap, Elem: &abi.Schema{Type: abi.TypeBool}}, values{"a\"b": 1},
		},
		"not a map": {abi.Schema{Type: abi.TypeMap, Elem: &text}, 1},
	}
}

func makeRefusals(t *testing.T) []refusal {
	t.Helper()
	var list []refusal
	add := func(r refusal, err error) {
		require.Error(t, err, "%s %s", r.Kind, r.Name)
		e := abi.AsError(err)
		r.Code, r.Message, r.Hint = e.Code, e.Message, e.Hint
		list = append(list, r)
	}
	for _, kind := range abi.OpKinds {
		for name, body := range sorted(refusedOps()[kind]) {
			packed := abi.MustMarshal(body)
			_, err := abi.DecodeOp(kind, packed)
			add(refusal{Name: name, Kind: kind, Hex: hex.EncodeToString(packed)}, orNil(err))
		}
	}
	for name, key := range sorted(map[string]string{
		"empty": "", "long": strings.Repeat("ä", abi.MaxKey), "a line break": "a\nb",
	}) {
		add(refusal{Name: name, Kind: "key", Hex: hex.EncodeToString([]byte(key))}, abi.CheckKey(key))
	}
	for name, m := range sorted(misfits()) {
		value, schema := abi.MustMarshal(m.value), abi.MustMarshal(m.schema)
		add(
			refusal{Name: name, Kind: "value", Hex: hex.EncodeToString(value), Schema: hex.EncodeToString(schema)},
			m.schema.Check(value),
		)
	}
	return list
}

// sorted yields the entries of a map by their keys.
func sorted[V any](of map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if !yield(key, of[key]) {
				return
			}
		}
	}
}

// orNil is the error without the type that makes a nil one an error.
func orNil(err *abi.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// TestRefusals compares the refusals with the published list.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(makeRefusals(t)))
	if *update {
		require.NoError(t, os.WriteFile(refusalsFile, buf.Bytes(), 0o644))
	}
	want, err := os.ReadFile(refusalsFile)
	require.NoError(t, err)
	require.Equal(t, string(want), buf.String(), "regenerate with: make generate")
}
