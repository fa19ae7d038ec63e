package conformance

import (
	"maps"
	"math"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func valueCases() []testCase {
	values := map[string]any{
		"nil":           nil,
		"true":          true,
		"zero":          0,
		"smallest int":  int64(math.MinInt64),
		"largest int":   int64(math.MaxInt64),
		"largest uint":  uint64(math.MaxUint64),
		"float":         3.25,
		"negative zero": math.Copysign(0, -1),
		"infinity":      math.Inf(1),
		"float32":       float32(0.1),
		"floats at their limits": []any{
			math.Copysign(0, -1), math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, math.Inf(-1), math.NaN(),
			float32(math.SmallestNonzeroFloat32), float32(math.MaxFloat32), float32(math.Inf(1)), float32(math.NaN()), 1.0, float64(1 << 53),
		},
		"integers at their limits": []any{
			-1, -32, -33, math.MinInt8, math.MinInt8 - 1, math.MinInt16, math.MinInt16 - 1, math.MinInt32, math.MinInt32 - 1, int64(math.MinInt64),
			127, 128, 255, 256, math.MaxInt16, math.MaxUint16, 1 << 16, math.MaxInt32, math.MaxUint32, 1 << 32, int64(math.MaxInt64), uint64(1 << 63), uint64(math.MaxUint64),
		},
		"empty string":    "",
		"unicode":         "Grüße, 世界 🌍 \u0000 \u202e",
		"empty bytes":     []byte{},
		"bytes":           []byte{0, 1, 0xfe, 0xff},
		"empty list":      []any{},
		"empty map":       object{},
		"mixed":           []any{1, "a", nil, []byte{1}, object{"b": []any{2.5, false}}},
		"keys of a map":   object{"": 1, "ä": 2, "z": 3, "a": 4, "aa": 5},
		"time":            time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC),
		"time at first":   time.Unix(0, 0).UTC(),
		"time far ahead":  time.Unix(1<<34, 999_999_999).UTC(),
		"times by length": []any{time.Unix(1<<32-1, 0).UTC(), time.Unix(1<<32, 0).UTC(), time.Unix(1<<34-1, 999_999_999).UTC(), time.Unix(1<<34, 0).UTC(), time.Unix(-1, 1).UTC()},
		"time before":     time.Date(1901, 1, 1, 0, 0, 0, 1, time.UTC),
		"long string":     strings.Repeat("ä", 70_000),
		"list of many":    make([]bool, 2_000),
		"nested to limit": nested(60),
	}
	for header, n := range map[string]int{"a fixed string": 31, "a string of 8": 32, "a string of 16": 256, "a string of 32": 1 << 16} {
		values[header] = strings.Repeat("x", n)
	}
	cases := make([]testCase, 0, len(values))
	for name, v := range values {
		cases = append(cases, testCase{name: "echo " + name, workflow: "Echo", input: v, want: v, journal: []string{"activity echo"}})
	}
	everything := with(object{})
	present := with(object{"absent": "present", "pointer": "pointed at"})
	empty := with(object{"bytes": []byte{}, "list": []int{}, "map": object{}, "string": "", "pointer": "", "time": time.Unix(0, 0).UTC()})
	return append(cases,
		testCase{name: "typed, nil and absent", workflow: "EchoTyped", input: everything, want: everything},
		testCase{name: "typed, all present", workflow: "EchoTyped", input: present, want: present},
		testCase{name: "typed, all empty", workflow: "EchoTyped", input: empty, want: empty},
		testCase{name: "typed, nil for absent", workflow: "EchoTyped", input: with(object{"absent": nil}), want: everything},
		testCase{name: "typed, empty for absent", workflow: "EchoTyped", input: with(object{"absent": ""}), want: with(object{"absent": ""})},
		testCase{name: "a megabyte", workflow: "Bulk", input: 1 << 20, want: 1 << 20},
		testCase{name: "three megabytes", workflow: "Bulk", input: 3 << 20, want: 3 << 20},
		testCase{name: "activity input too large", workflow: "Huge", input: "activity input", want: string(abi.CodePayloadTooLarge), journal: []string{}},
		testCase{name: "activity result too large", workflow: "Huge", input: "activity result", want: string(abi.CodePayloadTooLarge)},
		testCase{name: "result too large", workflow: "Huge", input: "result", state: journal.Failed, code: abi.CodeWorkflowFailed, text: "CR-2005"},
		testCase{name: "result just too large", workflow: "Huge", input: "just above", state: journal.Failed, code: abi.CodeWorkflowFailed, text: "CR-2005"},
	)
}

// nested is a list in a list in a list.
func nested(depth int) any {
	var v any = "inside"
	for range depth {
		v = []any{v}
	}
	return v
}

// with is a request that has every field except the one that may be absent; fields
// override its values.
func with(fields object) object {
	out := object{
		"bool": true, "bytes": []byte("raw"), "float32": float32(1.5), "float64": math.MaxFloat64,
		"int64": int64(math.MinInt64), "int8": -128, "list": []int{1, -1}, "map": object{"k": 1},
		"nested": object{"A": 1, "B": -1}, "pointer": nil, "string": "ß",
		"time": time.Unix(1_700_000_000, 5).UTC(), "uint64": uint64(math.MaxUint64),
	}
	maps.Copy(out, fields)
	return out
}

func without(field string) object {
	out := with(object{})
	delete(out, field)
	return out
}

// refusedCases are requests that do not fit: nothing is started.
func refusedCases() []testCase {
	var cases []testCase
	for name, input := range map[string]any{
		"a field too many":      with(object{"more": 1}),
		"a field too few":       without("bool"),
		"no pointer":            without("pointer"),
		"nil for a number":      with(object{"int64": nil}),
		"nil for a string":      with(object{"string": nil}),
		"a number for a string": with(object{"string": 1}),
		"a string for bytes":    with(object{"bytes": "raw"}),
		"bytes for a string":    with(object{"string": []byte("ß")}),
		"a float for an int":    with(object{"int64": 1.5}),
		"too large for 8 bits":  with(object{"int8": 128}),
		"too large for 64 bits": with(object{"int64": uint64(math.MaxUint64)}),
		"too small for a uint":  with(object{"uint64": -1}),
		"too large for a float": with(object{"float32": math.MaxFloat64}),
		"a time as text":        with(object{"time": "2026-01-01T00:00:00Z"}),
		"a map for a list":      with(object{"list": object{}}),
		"a list of others":      with(object{"list": []string{"x"}}),
		"a map of others":       with(object{"map": object{"k": "v"}}),
		"inside, a field short": with(object{"nested": object{"A": 1}}),
		"not a struct":          "everything",
		"nothing":               nil,
	} {
		cases = append(cases, testCase{name: "refused, " + name, workflow: "EchoTyped", input: input, refused: abi.CodeBadInput})
	}
	return append(cases,
		testCase{name: "refused, a field for none", workflow: "First", input: object{"more": 1}, refused: abi.CodeBadInput},
		testCase{name: "refused, a string for an int", workflow: "Sequence", input: "5", refused: abi.CodeBadInput},
		testCase{name: "refused, too deep", workflow: "Echo", input: nested(70), refused: abi.CodeBadInput},
		testCase{name: "refused, too large", workflow: "Echo", input: make([]byte, 5<<20), refused: abi.CodePayloadTooLarge},
		testCase{name: "refused, no such workflow", workflow: "Nothing", input: nil, refused: abi.CodeUnknownWorkflow},
	)
}
