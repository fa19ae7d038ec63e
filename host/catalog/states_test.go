package catalog

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func structOf(fields ...abi.Field) *abi.Schema {
	return &abi.Schema{Type: abi.TypeStruct, Fields: fields}
}

func fieldOf(name string, s *abi.Schema) abi.Field { return abi.Field{Name: name, Schema: s} }

func TestLostFields(t *testing.T) {
	t.Parallel()
	whole := &abi.Schema{Type: abi.TypeInt}
	listOf := func(s *abi.Schema) *abi.Schema { return &abi.Schema{Type: abi.TypeList, Elem: s} }
	for name, tc := range map[string]struct {
		old, updated *abi.Schema
		want         []string
	}{
		"Same":             {structOf(fieldOf("a", whole)), structOf(fieldOf("a", whole)), nil},
		"New":              {structOf(fieldOf("a", whole)), structOf(fieldOf("a", whole), fieldOf("b", whole)), nil},
		"Renamed":          {structOf(fieldOf("free", whole), fieldOf("holds", whole)), structOf(fieldOf("available", whole), fieldOf("holds", whole)), []string{`"free"`}},
		"Inside":           {structOf(fieldOf("a", structOf(fieldOf("b", whole)))), structOf(fieldOf("a", structOf())), []string{`"a.b"`}},
		"OfElements":       {listOf(structOf(fieldOf("b", whole))), listOf(structOf(fieldOf("c", whole))), []string{`"b"`}},
		"AnotherTypeFails": {structOf(fieldOf("a", whole)), &abi.Schema{Type: abi.TypeString}, nil},
		"Anything":         {nil, structOf(fieldOf("a", whole)), nil},
		"ToAnything":       {structOf(fieldOf("a", whole)), nil, nil},
	} {
		require.Equal(t, tc.want, lost(tc.old, tc.updated, ""), name)
	}
	old := &abi.EntityInfo{Name: "Rooms", State: structOf(fieldOf("free", whole)), StateVersion: 1}
	for version, want := range map[uint32]string{
		0: "has fewer migrations of its state, 0 instead of 1", 1: `has no "free" in its state any more`, 2: "",
	} {
		updated := &abi.Manifest{Entities: []abi.EntityInfo{{Name: "Other"}, {Name: "Rooms", State: structOf(), StateVersion: version}}}
		require.Equal(t, want, stateMisfit(old, updated), "a migration is responsible")
	}
	require.Empty(t, stateMisfit(old, &abi.Manifest{}), "an entity that is gone does not write")
}

// TestStatesAreNotLost: code that has no place for a part of the states that there are is deployed only if
// the caller says so.
func TestStatesAreNotLost(t *testing.T) {
	t.Parallel()
	rooms := func(field string) []byte {
		return wasmtest.Program{Manifest: &abi.Manifest{Entities: []abi.EntityInfo{{
			Name: "Rooms", State: structOf(fieldOf(field, &abi.Schema{Type: abi.TypeInt})), Operations: []abi.OperationInfo{{Name: "Book"}},
		}}}}.Assemble()
	}
	c := newCatalog(t, newStore())
	key := ""
	push := func(binary []byte, anyway bool) error {
		_, err := c.Push(t.Context(), PushRequest{
			Namespace: "default", Name: "hotel", Binary: binary, Settings: Settings{Anyway: anyway},
			HasState: func(_ context.Context, entityType string) (string, error) {
				require.Equal(t, "hotel/Rooms", entityType)
				return key, nil
			},
		}, at(1))
		return err
	}
	require.NoError(t, push(rooms("free"), false))
	require.NoError(t, push(rooms("vacant"), false), "there are no states")
	key = "double"
	err := push(rooms("available"), false)
	require.Equal(t, abi.CodeStateLost, abi.CodeOf(err))
	require.ErrorContains(t, err, `hotel/Rooms has no "vacant" in its state any more, and there are states, as that of "double"`)
	d, err := c.Deployment(t.Context(), "default", "hotel")
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version, "nothing was changed")
	require.NoError(t, push(rooms("available"), true))
}
