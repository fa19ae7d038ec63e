package conformance

import (
	"math"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func valueCases() []testCase {
	values := map[string]any{
		"nil":             nil,
		"true":            true,
		"zero":            0,
		"smallest int":    int64(math.MinInt64),
		"largest int":     int64(math.MaxInt64),
		"largest uint":    uint64(math.MaxUint64),
		"float":           3.25,
		"negative zero":   math.Copysign(0, -1),
		"infinity":        math.Inf(1),
		"empty string":    "",
		"unicode":         "Grüße, 世界 🌍 \u0000 \u202e",
		"empty bytes":     []byte{},
		"bytes":           []byte{0, 1, 0xfe, 0xff},
		"empty list":      []any{},
		"empty map":       object{},
		"mixed":           []any{1, "a", nil, []byte{1}, object{"b": []any{2.5, false}}},
		"keys of a map":   object{"": 1, "ä": 2, "z": 3, "a": 4, "aa": 5},
		"time":            time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC),
		"time before":     time.Date(1901, 1, 1, 0, 0, 0, 1, time.UTC),
		"long string":     strings.Repeat("ä", 70_000),
		"list of many":    make([]bool, 2_000),
		"nested to limit": nested(60),
	}
	cases := make([]testCase, 0, len(values))
	for name, v := range values {
		cases = append(cases, testCase{name: "echo " + name, workflow: "Echo", input: v, want: v, journal: []string{"activity echo"}})
	}
	everything := object{
		"bool": true, "bytes": []byte("raw"), "float32": float32(1.5), "float64": math.MaxFloat64,
		"int64": int64(math.MinInt64), "int8": -128, "list": []int{1, -1}, "map": object{"k": 1},
		"nested": object{"A": 1, "B": -1}, "pointer": nil, "string": "ß",
		"time": time.Unix(1_700_000_000, 5).UTC(), "uint64": uint64(math.MaxUint64),
	}
	present := object{"absent": "present"}
	for k, v := range everything {
		present[k] = v
	}
	present["pointer"] = "pointed at"
	return append(cases,
		testCase{name: "typed, nil and absent", workflow: "EchoTyped", input: everything, want: everything},
		testCase{name: "typed, all present", workflow: "EchoTyped", input: present, want: present},
		testCase{name: "a megabyte", workflow: "Bulk", input: 1 << 20, want: 1 << 20},
		testCase{name: "three megabytes", workflow: "Bulk", input: 3 << 20, want: 3 << 20},
		testCase{name: "activity input too large", workflow: "Huge", input: "activity input", want: string(abi.CodePayloadTooLarge), journal: []string{}},
		testCase{name: "activity result too large", workflow: "Huge", input: "activity result", want: string(abi.CodePayloadTooLarge)},
		testCase{name: "result too large", workflow: "Huge", input: "result", state: journal.Failed, code: abi.CodeWorkflowFailed, text: "CR-2005"},
		testCase{name: "result just too large", workflow: "Huge", input: "just above", state: journal.Failed, code: abi.CodeWorkflowFailed, text: "CR-2005"},
		testCase{name: "plain failure", workflow: "Fail", input: "plain", state: journal.Failed, code: abi.CodeWorkflowFailed, text: "plainly wrong"},
		testCase{name: "typed failure", workflow: "Fail", input: "no money", state: journal.Failed, code: abi.CodeWorkflowFailed, text: "no money", after: failureKeepsItsType},
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
