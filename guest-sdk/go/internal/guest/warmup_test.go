package guest

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/cruster/cruster/abi"
)

// TestWarmUp runs to its end, and leaves nothing in the module.
func TestWarmUp(t *testing.T) {
	require.True(t, WarmUp())
	_, found := Default.Workflow("warm")
	require.False(t, found)
	h := &warmUpHost{}
	require.True(t, warmUpOperations(h, abi.Invocation{Name: "warm", Body: abi.MustMarshal(map[string]any{"n": 1})}))
}

// ownCodec has code of the module encode and decode it.
type ownCodec struct{ N int }

func (*ownCodec) EncodeMsgpack(*msgpack.Encoder) error { panic("called") }
func (*ownCodec) DecodeMsgpack(*msgpack.Decoder) error { panic("called") }

type textOnly struct{ N int }

func (*textOnly) UnmarshalText([]byte) error { panic("called") }

// Types are looked at, however they are put together, and no code of the module runs.
func TestWarmTypesRunsNoCodeOfTheModule(t *testing.T) {
	t.Parallel()
	type inner struct {
		Own  ownCodec            `json:"own"`
		Text map[string]textOnly `json:"text"`
		At   time.Time
	}
	type outer struct {
		inner
		List  []*inner `json:"list"`
		Again *outer   `json:"again"`
		Any   any
		none  int //nolint:unused // a field that the codec does not see
	}
	type twice struct {
		A int `msgpack:"same"`
		B int `msgpack:"same"`
	}
	type bad struct {
		N int `msgpack:",intern"`
	}
	seen := map[reflect.Type]bool{}
	for _, v := range []any{outer{}, []outer{}, ownCodec{}, twice{}, bad{}, 1, "", struct{}{}, func() {}} {
		require.NotPanics(t, func() { warmType(reflect.TypeOf(v), seen) })
	}
	require.True(t, seen[reflect.TypeFor[inner]()])
	require.True(t, warmStruct(reflect.TypeFor[outer]()))
	require.False(t, warmStruct(reflect.TypeFor[twice]()), "the codec would write a warning")
	require.False(t, warmStruct(reflect.TypeFor[bad]()), "the codec panics")
}
