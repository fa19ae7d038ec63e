package thirdlanguage

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
)

// codec is the guest that decodes values and encodes them again.
const codec = "tests/thirdlanguage/codec"

type vector struct{ Name, Hex string }

func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(harness.Root(), "abi", "testdata", "vectors.json"))
	require.NoError(t, err)
	var list []vector
	require.NoError(t, json.Unmarshal(raw, &list))
	require.NotEmpty(t, list)
	all := make(map[string][]byte, len(list))
	for _, v := range list {
		all[v.Name], err = hex.DecodeString(v.Hex)
		require.NoError(t, err)
	}
	return all
}

// reencode lets the guest decode and encode each value; nil stands for a value that the guest refused.
func reencode(t testing.TB, m *wasm.Module, values [][]byte) [][]byte {
	t.Helper()
	got := outcome(t, m, abi.Invocation{Kind: abi.InvokeActivity, Name: "reencode", Body: abi.MustMarshal(values)})
	require.Nil(t, got.Error)
	again := harness.Decode[[][]byte](t, got.Value)
	require.Len(t, again, len(values))
	return again
}

// TestVectors is the first item of the page's checklist: the vectors, byte for byte.
func TestVectors(t *testing.T) {
	t.Parallel()
	m := compile(t, codec)
	for name, value := range vectors(t) {
		require.Equal(t, value, reencode(t, m, [][]byte{value})[0], name)
	}
}

// TestHostileValues damages the vectors in every place. The guest must read every value as the host does, and refuse
// the same bytes as the host. It is built to trap on everything that C leaves undefined.
func TestHostileValues(t *testing.T) {
	t.Parallel()
	m := compile(t, codec)
	for name, value := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireSame(t, m, damaged(value))
		})
	}
}

// TestDepth checks values at the limit of nesting and just above it.
func TestDepth(t *testing.T) {
	t.Parallel()
	var values [][]byte
	for depth := range 70 {
		lists := slices.Repeat([]byte{0x91}, depth)
		maps := slices.Repeat([]byte{0x81, 0xa0}, depth)
		for _, inside := range []byte{0xc0, 0x90, 0x80} {
			values = append(values, append(slices.Clone(lists), inside), append(slices.Clone(maps), inside))
		}
	}
	requireSame(t, compile(t, codec), values)
}

// TestLies passes lengths that are larger than the bytes that follow: the guest must not allocate memory for them.
func TestLies(t *testing.T) {
	t.Parallel()
	var values [][]byte
	for _, first := range []byte{0xc6, 0xc9, 0xdb, 0xdd, 0xdf} {
		for _, length := range []string{
			"\xff\xff\xff\xff", "\x80\x00\x00\x00", "\x7f\xff\xff\xff", "\x00\x40\x00\x00",
		} {
			values = append(values, append([]byte{first}, length...), append([]byte{0x91, first}, length+"\x00\x00"...))
		}
	}
	requireSame(t, compile(t, codec), values)
}

// FuzzValues looks for a value that guest and host read differently.
func FuzzValues(f *testing.F) {
	for _, value := range vectors(f) {
		f.Add(value)
	}
	m := compile(f, codec)
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) < 64<<10 {
			requireSame(t, m, [][]byte{value})
		}
	})
}

// damaged returns a value cut off at every place, with each of its bytes changed, and with bytes after it.
func damaged(value []byte) [][]byte {
	all := [][]byte{append(slices.Clone(value), 0xc0)}
	for i := range value {
		all = append(all, value[:i])
		for _, b := range []byte{value[i] ^ 0x01, value[i] ^ 0x80, 0xc1, 0xdf, 0xff, 0x9f} {
			changed := slices.Clone(value)
			changed[i] = b
			all = append(all, changed)
		}
	}
	return all
}

// requireSame checks that the guest reads values as the host does.
func requireSame(t testing.TB, m *wasm.Module, values [][]byte) {
	t.Helper()
	for i, again := range reencode(t, m, values) {
		want, err := abi.Canonical(values[i])
		if again == nil {
			require.Error(t, err, "the guest refused %x", values[i])
			continue
		}
		got, errAgain := abi.Canonical(again)
		require.Equal(t, err == nil, errAgain == nil, "%x became %x: %v, %v", values[i], again, err, errAgain)
		require.Equal(t, want, got, "%x became %x", values[i], again)
	}
}
