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

func typeOf(name string) *abi.Schema { return &abi.Schema{Type: name} }

func TestStateMisfit(t *testing.T) {
	t.Parallel()
	whole := typeOf(abi.TypeInt)
	before := &abi.EntityInfo{Name: "Rooms", State: structOf(fieldOf("free", whole)), StateVersion: 1}
	for version, want := range map[uint32]string{
		0: "it has fewer migrations, 0 instead of 1", 1: `"free" is gone`, 2: "",
	} {
		now := &abi.EntityInfo{Name: "Rooms", State: structOf(), StateVersion: version}
		require.Equal(t, want, stateMisfit(before, now, false), "a migration is responsible")
	}
	require.Empty(t, stateMisfit(&abi.EntityInfo{Name: "Rooms"}, before, false), "it had no state")
	require.Equal(t, "the entity is gone", stateMisfit(before, &abi.EntityInfo{}, true))
	require.Equal(t, "it has no state any more", stateMisfit(before, &abi.EntityInfo{Name: "Rooms", StateVersion: 1}, true))
	many := make([]string, 8)
	require.Equal(t, "; ; ; ; ; and 3 more", summary(many))
}

func TestOperationMisfit(t *testing.T) {
	t.Parallel()
	entity := func(operations ...abi.OperationInfo) *abi.EntityInfo {
		return &abi.EntityInfo{Name: "Rooms", Operations: operations}
	}
	taking := func(name string, input *abi.Schema) abi.OperationInfo {
		return abi.OperationInfo{Name: name, Input: input}
	}
	before := entity(taking("Book", structOf(fieldOf("nights", typeOf(abi.TypeInt)))), taking("Free", nil))
	for name, tc := range map[string]struct {
		now               *abi.EntityInfo
		operation, misfit string
	}{
		"Same": {now: before},
		"More": {now: entity(append([]abi.OperationInfo{taking("Cancel", nil)}, before.Operations...)...)},
		"Gone": {entity(before.Operations[0]), "Free", "it is gone"},
		"All":  {&abi.EntityInfo{}, "Book", "it is gone"},
		"Type": {entity(taking("Book", structOf(fieldOf("nights", typeOf(abi.TypeString)))), before.Operations[1]), "Book", `"nights" is string, and was int`},
		"Required": {
			entity(taking("Book", structOf(abi.Field{Name: "guest", Required: true}, fieldOf("nights", typeOf(abi.TypeInt)))), before.Operations[1]),
			"Book", `"guest" is required now`,
		},
	} {
		operation, misfit := operationMisfit(before, tc.now)
		require.Equal(t, tc.operation, operation, name)
		require.Equal(t, tc.misfit, misfit, name)
	}
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
			Uses: Uses{HasState: func(_ context.Context, entityType string) (string, error) {
				require.Equal(t, "hotel/Rooms", entityType)
				return key, nil
			}},
		}, at(1))
		return err
	}
	require.NoError(t, push(rooms("free"), false))
	require.NoError(t, push(rooms("vacant"), false), "there are no states")
	key = "double"
	err := push(rooms("available"), false)
	require.Equal(t, abi.CodeStateLost, abi.CodeOf(err))
	require.ErrorContains(t, err, `hotel/Rooms does not fit its states, as that of "double": "vacant" is gone`)
	d, err := c.Deployment(t.Context(), "default", "hotel")
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version, "nothing was changed")
	require.NoError(t, push(rooms("available"), true))
}

// TestOpenExecutionsCanCall: an operation takes what executions of the code before the push may send it, unless
// the caller says that they do not.
func TestOpenExecutionsCanCall(t *testing.T) {
	t.Parallel()
	rooms := func(input string) []byte {
		return wasmtest.Program{Manifest: &abi.Manifest{Entities: []abi.EntityInfo{{
			Name: "Rooms", Operations: []abi.OperationInfo{{Name: "Book", Input: typeOf(input)}},
		}}}}.Assemble()
	}
	c := newCatalog(t, newStore())
	open := ""
	push := func(input string, anyway bool) error {
		_, err := c.Push(t.Context(), PushRequest{
			Namespace: "default", Name: "hotel", Binary: rooms(input), Settings: Settings{Anyway: anyway},
			Uses: Uses{InUse: func(context.Context) (string, error) { return open, nil }},
		}, at(1))
		return err
	}
	require.NoError(t, push(abi.TypeInt, false))
	require.NoError(t, push(abi.TypeString, false), "there are no executions")
	open = "hotel/Stay/7"
	err := push(abi.TypeInt, false)
	require.Equal(t, abi.CodeStateLost, abi.CodeOf(err))
	require.ErrorContains(t, err, `hotel/Rooms.Book does not take any more what open executions may send, as hotel/Stay/7: it is int, and was string`)
	require.NoError(t, push(abi.TypeString, false), "it takes what it took")
	require.NoError(t, push(abi.TypeAny, false), "and more")
	require.NoError(t, push(abi.TypeInt, false), "what it took before is not known")
	require.NoError(t, push(abi.TypeString, true))
}
