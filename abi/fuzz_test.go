package abi_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// The corpora in testdata/fuzz hold earlier findings; the golden vectors are seeds too.

func FuzzCanonical(f *testing.F) {
	for _, s := range samples() {
		f.Add(abi.MustMarshal(s.value))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		canonical, err := abi.Canonical(data)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(canonical), len(data))
		again, err := abi.Canonical(canonical)
		require.NoError(t, err)
		require.Equal(t, canonical, again)
	})
}

func FuzzDecodeBody(f *testing.F) {
	for _, s := range samples() {
		f.Add(abi.MustMarshal(s.value))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, body := range newBodies() {
			if err := abi.DecodeBody(data, body); err != nil {
				code := abi.CodeOf(err)
				require.Contains(t, []abi.Code{abi.CodeBadBody, abi.CodePayloadTooLarge}, code)
				continue
			}
			// A decoded value can be encoded, and decodes to the same again.
			packed, err := abi.Marshal(body)
			require.NoError(t, err)
			fresh := reflect.New(reflect.TypeOf(body).Elem()).Interface()
			require.NoError(t, abi.DecodeBody(packed, fresh))
			again, err := abi.Marshal(fresh)
			require.NoError(t, err)
			require.Equal(t, packed, again)
		}
	})
}

func TestDecodeBodyRefuses(t *testing.T) {
	t.Parallel()
	for name, data := range map[string][]byte{
		"nothing":       {},
		"garbage":       []byte("hello, world"),
		"another shape": abi.MustMarshal([]any{1, 2}),
		"wrong type":    abi.MustMarshal(map[string]any{"duration": "long"}),
		"trailing":      append(abi.MustMarshal(abi.Sleep{}), 0xc0),
		"twice":         {0x82, 0xa4, 'n', 'a', 'm', 'e', 0xa0, 0xa4, 'n', 'a', 'm', 'e', 0xa0},
	} {
		require.Equal(t, abi.CodeBadBody, abi.CodeOf(abi.DecodeBody(data, new(abi.Sleep))), name)
	}
	big := abi.MustMarshal(bytes.Repeat([]byte{1}, abi.MaxBody))
	require.Equal(t, abi.CodePayloadTooLarge, abi.CodeOf(abi.DecodeBody(big, new(abi.Sleep))))
}

// A version of the contract ignores the fields that a later version adds.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	var s abi.Sleep
	require.NoError(t, abi.DecodeBody(abi.MustMarshal(map[string]any{"duration": 5, "zone": "UTC"}), &s))
	require.EqualValues(t, 5, s.Duration)
}
