package abi_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/cruster/cruster/abi"
)

var update = flag.Bool("update", false, "rewrite testdata/vectors.json")

const vectorsFile = "testdata/vectors.json"

// A vector is an output that an SDK in any language must produce, byte for byte.
type vector struct {
	Name string `json:"name"`
	// Value is the value in a notation like JSON's, with h'…' for bytes, a decimal point in every float and t'…' for
	// times.
	Value  string `json:"value"`
	Hex    string `json:"hex"`
	SHA256 string `json:"sha256"`
}

func makeVectors(t *testing.T) []vector {
	t.Helper()
	var list []vector
	for _, s := range samples() {
		packed, err := abi.Marshal(s.value)
		require.NoError(t, err, s.name)
		canonical, err := abi.Canonical(packed)
		require.NoError(t, err, s.name)
		if !strings.HasPrefix(s.name, "value/") {
			require.Equal(t, canonical, packed, "%s: the encoding of a body is canonical", s.name)
		}
		sum := sha256.Sum256(canonical)
		list = append(list, vector{
			s.name, diagnose(t, canonical), hex.EncodeToString(canonical), hex.EncodeToString(sum[:]),
		})
	}
	return list
}

// TestVectors compares the encoding with the published vectors. They are a contract with SDKs in other languages:
// adding vectors is fine, but changing one makes a new version of the ABI.
func TestVectors(t *testing.T) {
	t.Parallel()
	got := makeVectors(t)
	if *update {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(got))
		require.NoError(t, os.WriteFile(vectorsFile, buf.Bytes(), 0o644))
	}
	data, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	var want []vector
	require.NoError(t, json.Unmarshal(data, &want))
	require.Len(t, got, len(want), "regenerate with: make generate")
	for i := range want {
		require.Equal(t, want[i], got[i])
	}
}

// TestVectorsRoundTrip decodes every body and encodes it again.
func TestVectorsRoundTrip(t *testing.T) {
	t.Parallel()
	covered := map[reflect.Type]bool{}
	for _, s := range samples() {
		if strings.HasPrefix(s.name, "value/") {
			continue
		}
		typ := reflect.TypeOf(s.value)
		require.Equal(t, typ.Name(), strings.Split(s.name, "/")[0])
		covered[typ] = true
		packed := abi.MustMarshal(s.value)
		back := reflect.New(typ)
		require.NoError(t, abi.DecodeBody(packed, back.Interface()), s.name)
		require.Equal(t, packed, abi.MustMarshal(back.Elem().Interface()), s.name)
	}
	for _, b := range newBodies() {
		require.True(t, covered[reflect.TypeOf(b).Elem()], "no vector of %T", b)
	}
}

// TestFieldsAreSorted checks a premise of the canonical encoding of bodies.
func TestFieldsAreSorted(t *testing.T) {
	t.Parallel()
	for _, b := range newBodies() {
		typ := reflect.TypeOf(b).Elem()
		previous := ""
		for f := range typ.Fields() {
			tag := f.Tag.Get("msgpack")
			require.NotEmpty(t, tag, "%v.%s has no wire name", typ, f.Name)
			require.NotContains(t, tag, ",", "%v.%s: fields are always written", typ, f.Name)
			require.Greater(t, tag, previous, "%v.%s is out of order", typ, f.Name)
			previous = tag
		}
	}
}

// diagnose renders a msgpack value for people to read.
func diagnose(t *testing.T, data []byte) string {
	t.Helper()
	v, err := msgpack.NewDecoder(bytes.NewReader(data)).DecodeInterface()
	require.NoError(t, err)
	var b strings.Builder
	writeDiagnostic(&b, v)
	return b.String()
}

func writeDiagnostic(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case string:
		b.WriteString(strconv.Quote(v))
	case []byte:
		fmt.Fprintf(b, "h'%x'", v)
	case float32:
		b.WriteString(withPoint(strconv.FormatFloat(float64(v), 'g', -1, 32)) + "f32")
	case float64:
		b.WriteString(withPoint(strconv.FormatFloat(v, 'g', -1, 64)))
	case time.Time:
		fmt.Fprintf(b, "t'%s'", v.UTC().Format(time.RFC3339Nano))
	case []any:
		b.WriteString("[")
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeDiagnostic(b, e)
		}
		b.WriteString("]")
	case map[string]any:
		b.WriteString("{")
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "%q: ", k)
			writeDiagnostic(b, v[k])
		}
		b.WriteString("}")
	default:
		fmt.Fprint(b, v)
	}
}

func withPoint(s string) string {
	if strings.ContainsAny(s, ".eIN") {
		return s
	}
	return s + ".0"
}
