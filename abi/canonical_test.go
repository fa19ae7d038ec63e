package abi_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nil":                     {"c0", "c0"},
		"false":                   {"c2", "c2"},
		"true":                    {"c3", "c3"},
		"fixint":                  {"7f", "7f"},
		"negative fixint":         {"e0", "e0"},
		"uint8 of 5":              {"cc 05", "05"},
		"uint16 of 5":             {"cd 0005", "05"},
		"uint64 of 200":           {"cf 00000000000000c8", "cc c8"},
		"uint64 of 256":           {"cf 0000000000000100", "cd 0100"},
		"uint64 of 65536":         {"cf 0000000000010000", "ce 00010000"},
		"uint64 of 1<<32":         {"cf 0000000100000000", "cf 0000000100000000"},
		"largest uint64":          {"cf ffffffffffffffff", "cf ffffffffffffffff"},
		"int8 of 5":               {"d0 05", "05"},
		"int64 of 200":            {"d3 00000000000000c8", "cc c8"},
		"int16 of -1":             {"d1 ffff", "ff"},
		"int64 of -32":            {"d3 ffffffffffffffe0", "e0"},
		"int64 of -33":            {"d3 ffffffffffffffdf", "d0 df"},
		"int64 of -129":           {"d3 ffffffffffffff7f", "d1 ff7f"},
		"int64 of -32769":         {"d3 ffffffffffff7fff", "d2 ffff7fff"},
		"smallest int64":          {"d3 8000000000000000", "d3 8000000000000000"},
		"float32 keeps its width": {"ca 3fc00000", "ca 3fc00000"},
		"float64 keeps its width": {"cb 3ff8000000000000", "cb 3ff8000000000000"},
		"float64 of 1 is not int": {"cb 3ff0000000000000", "cb 3ff0000000000000"},
		"negative zero stays":     {"cb 8000000000000000", "cb 8000000000000000"},
		"NaN with a payload":      {"cb fff8000000000001", "cb 7ff8000000000000"},
		"signalling NaN32":        {"ca 7f800001", "ca 7fc00000"},
		"str8":                    {"d9 01 61", "a1 61"},
		"str32":                   {"db 00000001 61", "a1 61"},
		"empty string":            {"da 0000", "a0"},
		"bin32":                   {"c6 00000001 61", "c4 01 61"},
		"empty bin is not nil":    {"c4 00", "c4 00"},
		"array32":                 {"dd 00000002 01 cc02", "92 01 02"},
		"map16 is sorted":         {"de 0002 a1 62 02 a1 61 01", "82 a1 61 01 a1 62 02"},
		"text before length":      {"82 a1 62 02 a2 61 61 01", "82 a2 61 61 01 a1 62 02"},
		"empty key first":         {"82 a1 61 01 a0 02", "82 a0 02 a1 61 01"},
		"other keys first":        {"83 a1 61 01 02 03 c0 04", "83 02 03 c0 04 a1 61 01"},
		"nested maps":             {"81 a1 61 82 a1 7a cc00 a1 79 c0", "81 a1 61 82 a1 79 c0 a1 7a 00"},
		"maps as keys":            {"81 82 a1 62 01 a1 61 02 c0", "81 82 a1 61 02 a1 62 01 c0"},
		"ext8 of 4 is fixext4":    {"c7 04 ff 00000001", "d6 ff 00000001"},
		"ext16 of 3 is ext8":      {"c8 0003 05 010203", "c7 03 05 010203"},
		"empty extension":         {"c7 00 05", "c7 00 05"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := abi.Canonical(unhex(t, c.in))
			require.NoError(t, err)
			require.Equal(t, strings.ReplaceAll(c.want, " ", ""), hex.EncodeToString(got))
		})
	}
}

func TestCanonicalHeaders(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 31, 32, 255, 256, 65535, 65536} {
		for _, v := range []any{strings.Repeat("x", n), make([]byte, n), make([]int, n)} {
			packed := abi.MustMarshal(v)
			got, err := abi.Canonical(packed)
			require.NoError(t, err)
			require.True(t, bytes.Equal(packed, got), "%T of %d", v, n)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"nothing":                   "",
		"two values":                "c0 c0",
		"the unused type":           "c1",
		"cut integer":               "cd 00",
		"cut signed integer":        "d3 00",
		"cut float":                 "cb 00000000",
		"cut string":                "a2 61",
		"cut length":                "da 00",
		"cut binary":                "c4 02 61",
		"cut array":                 "92 01",
		"cut map":                   "81 a1 61",
		"cut extension":             "d6 ff 0000",
		"extension without type":    "c7 00",
		"array that lies":           "dd ffffffff 01",
		"map that lies":             "df ffffffff 01 02",
		"string that lies":          "db ffffffff 61",
		"binary that lies":          "c6 7fffffff 61",
		"extension that lies":       "c9 ffffffff 01",
		"a key twice":               "82 a1 61 01 a1 61 02",
		"a key twice, side by side": "83 a1 61 01 a1 62 02 a1 62 03",
		"a key twice, far apart":    "83 a1 61 01 a1 62 02 a1 61 03",
		"a key in two forms":        "82 a1 61 01 d9 01 61 02",
		"an integer key twice":      "82 05 01 cc05 02",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := abi.Canonical(unhex(t, in))
			require.ErrorContains(t, err, "msgpack: ")
		})
	}
}

func TestCanonicalDepth(t *testing.T) {
	t.Parallel()
	nested := func(head byte, levels int) []byte { return append(bytes.Repeat([]byte{head}, levels), 0xc0) }
	_, err := abi.Canonical(nested(0x91, abi.MaxDepth))
	require.NoError(t, err)
	_, err = abi.Canonical(nested(0x91, abi.MaxDepth+1))
	require.ErrorContains(t, err, "deep")
	_, err = abi.Canonical(nested(0x81, 1_000_000))
	require.Error(t, err)
}

// A node is a value without its encoding. An encoder is free to choose which width to use, and in which order to write
// the entries of a map.
type node struct {
	kind  byte // n nil, b bool, i int, f float32, d float64, s string, x binary, e extension, a array, m map
	bool  bool
	int   int64
	float float64
	text  string
	items []node // of an array; keys and values in turn of a map
}

func drawNode(t *rapid.T, depth int) node {
	kinds := "nbifdsxe"
	if depth < 4 {
		kinds += "aamm"
	}
	n := node{kind: rapid.SampledFrom([]byte(kinds)).Draw(t, "kind")}
	switch n.kind {
	case 'b':
		n.bool = rapid.Bool().Draw(t, "bool")
	case 'i':
		n.int = rapid.OneOf(rapid.Int64(), rapid.Int64Range(-200, 300)).Draw(t, "int")
	case 'f':
		n.float = float64(rapid.Float32().Draw(t, "float32"))
	case 'd':
		n.float = rapid.Float64().Draw(t, "float64")
	case 's':
		n.text = rapid.OneOf(rapid.StringN(0, 8, -1), rapid.StringN(30, 300, -1)).Draw(t, "string")
	case 'x', 'e':
		n.text = string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes"))
	case 'a':
		for range rapid.IntRange(0, 20).Draw(t, "items") {
			n.items = append(n.items, drawNode(t, depth+1))
		}
	case 'm':
		for _, k := range rapid.SliceOfNDistinct(rapid.StringN(0, 6, -1), 0, 20, rapid.ID).Draw(t, "keys") {
			n.items = append(n.items, node{kind: 's', text: k}, drawNode(t, depth+1))
		}
	}
	return n
}

// encode appends an encoding of n. Each call draws other choices of an encoder; the value stays the same.
func encode(t *rapid.T, out []byte, n node) []byte {
	wide := func(fits ...bool) int { // one of the widths that fit
		from := slices.Index(fits, true)
		return rapid.IntRange(from, len(fits)-1).Draw(t, "width")
	}
	sized := func(out []byte, heads [3]byte, n int) []byte {
		switch wide(n <= math.MaxUint8, n <= math.MaxUint16, true) {
		case 0:
			return append(out, heads[0], byte(n))
		case 1:
			return binary.BigEndian.AppendUint16(append(out, heads[1]), uint16(n))
		default:
			return binary.BigEndian.AppendUint32(append(out, heads[2]), uint32(n))
		}
	}
	collection := func(out []byte, fixed, first byte, n int) []byte {
		switch wide(n <= 15, n <= math.MaxUint16, true) {
		case 0:
			return append(out, fixed|byte(n))
		case 1:
			return binary.BigEndian.AppendUint16(append(out, first), uint16(n))
		default:
			return binary.BigEndian.AppendUint32(append(out, first+1), uint32(n))
		}
	}
	switch n.kind {
	case 'n':
		return append(out, 0xc0)
	case 'b':
		if n.bool {
			return append(out, 0xc3)
		}
		return append(out, 0xc2)
	case 'i':
		return encodeInt(t, out, n.int)
	case 'f':
		return binary.BigEndian.AppendUint32(append(out, 0xca), math.Float32bits(float32(n.float)))
	case 'd':
		return binary.BigEndian.AppendUint64(append(out, 0xcb), math.Float64bits(n.float))
	case 's':
		if len(n.text) <= 31 && rapid.Bool().Draw(t, "fixstr") {
			return append(append(out, 0xa0|byte(len(n.text))), n.text...)
		}
		return append(sized(out, [3]byte{0xd9, 0xda, 0xdb}, len(n.text)), n.text...)
	case 'x':
		return append(sized(out, [3]byte{0xc4, 0xc5, 0xc6}, len(n.text)), n.text...)
	case 'e':
		return append(append(sized(out, [3]byte{0xc7, 0xc8, 0xc9}, len(n.text)), 42), n.text...)
	case 'a':
		out = collection(out, 0x90, 0xdc, len(n.items))
		for _, item := range n.items {
			out = encode(t, out, item)
		}
		return out
	default:
		pairs := slices.Collect(slices.Chunk(n.items, 2))
		out = collection(out, 0x80, 0xde, len(pairs))
		for _, pair := range rapid.Permutation(pairs).Draw(t, "order") {
			out = encode(t, encode(t, out, pair[0]), pair[1])
		}
		return out
	}
}

func encodeInt(t *rapid.T, out []byte, i int64) []byte {
	if i >= -32 && i <= 127 && rapid.Bool().Draw(t, "fixint") {
		return append(out, byte(i))
	}
	if i >= 0 && rapid.Bool().Draw(t, "unsigned") {
		switch {
		case i <= math.MaxUint8 && rapid.Bool().Draw(t, "uint8"):
			return append(out, 0xcc, byte(i))
		case i <= math.MaxUint16 && rapid.Bool().Draw(t, "uint16"):
			return binary.BigEndian.AppendUint16(append(out, 0xcd), uint16(i))
		case i <= math.MaxUint32 && rapid.Bool().Draw(t, "uint32"):
			return binary.BigEndian.AppendUint32(append(out, 0xce), uint32(i))
		}
		return binary.BigEndian.AppendUint64(append(out, 0xcf), uint64(i))
	}
	switch {
	case i == int64(int8(i)) && rapid.Bool().Draw(t, "int8"):
		return append(out, 0xd0, byte(i))
	case i == int64(int16(i)) && rapid.Bool().Draw(t, "int16"):
		return binary.BigEndian.AppendUint16(append(out, 0xd1), uint16(i))
	case i == int64(int32(i)) && rapid.Bool().Draw(t, "int32"):
		return binary.BigEndian.AppendUint32(append(out, 0xd2), uint32(i))
	}
	return binary.BigEndian.AppendUint64(append(out, 0xd3), uint64(i))
}

func TestCanonicalProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 0)
		first, second := encode(t, nil, n), encode(t, nil, n)
		a, err := abi.Canonical(first)
		require.NoError(t, err)
		b, err := abi.Canonical(second)
		require.NoError(t, err)
		require.Equal(t, a, b, "two encodings of one value")
		require.LessOrEqual(t, len(a), len(first))

		again, err := abi.Canonical(a)
		require.NoError(t, err)
		require.Equal(t, a, again, "idempotent")

		_, err = abi.Canonical(append(slices.Clone(first), 0xc0))
		require.Error(t, err, "trailing bytes")
		cut := rapid.IntRange(0, len(first)-1).Draw(t, "cut")
		_, err = abi.Canonical(first[:cut])
		require.Error(t, err, "truncated")
	})
}
