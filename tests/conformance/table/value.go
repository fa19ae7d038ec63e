package table

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
)

// Value is a msgpack value, written as JSON. A value that JSON lacks is an object with one key that begins with a
// dollar sign:
//
//	{"$float": "-0"}           a float of 64 bits; a plain number is an integer
//	{"$float32": "0.1"}        a float of 32 bits
//	{"$bytes": "00ff"}         bytes, in hexadecimal digits
//	{"$zeros": 5242880}        as many bytes
//	{"$repeat": ["ab", 3]}     a string that repeats another
//	{"$many": [false, 2000]}   a list that repeats a value
//	{"$time": [1700000000, 5]} a time, in seconds and nanoseconds since 1970
//	{"$outside": "/ping"}      the address of a page of the HTTP server of the test
//	{"$execution": ""}         the name of the execution
type Value struct {
	set   bool
	value any
}

// Places are the parts of values that only the runner knows.
type Places struct {
	// Outside is the address of the HTTP server of the test.
	Outside string
	// Execution is the name of the execution.
	Execution string
}

type (
	outside   string
	execution struct{}
)

// IsZero tells whether the file has no value there; null is one.
func (v Value) IsZero() bool { return !v.set }

// Text is a value that is a string; without a value it is empty.
func (v Value) Text() string {
	if !v.set {
		return ""
	}
	return v.value.(string)
}

// Encode encodes the value as msgpack; without a value that is nil.
func (v Value) Encode(p Places) []byte { return abi.MustMarshal(v.Any(p)) }

// Any is the value as Go has it: int64, uint64, float64, float32, string, []byte, time.Time, []any, map[string]any.
func (v Value) Any(p Places) any { return place(v.value, p) }

// place fills in the values that only the runner knows.
func place(v any, p Places) any {
	switch v := v.(type) {
	case outside:
		return p.Outside + string(v)
	case execution:
		return p.Execution
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = place(v[i], p)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = place(v[k], p)
		}
		return out
	}
	return v
}

// UnmarshalJSON reads the value from JSON.
func (v *Value) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var raw any
	if err := dec.Decode(&raw); err != nil {
		return err
	}
	value, err := fromJSON(raw)
	v.set, v.value = true, value
	return err
}

func fromJSON(raw any) (any, error) {
	switch raw := raw.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(raw.String(), 10, 64); err == nil {
			return n, nil
		}
		return strconv.ParseUint(raw.String(), 10, 64)
	case []any:
		out := make([]any, len(raw))
		for i := range raw {
			var err error
			if out[i], err = fromJSON(raw[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(raw))
		for k := range raw {
			if strings.HasPrefix(k, "$") {
				return special(k, raw[k])
			}
			var err error
			if out[k], err = fromJSON(raw[k]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return raw, nil
}

// special is a value that JSON lacks.
func special(kind string, raw any) (any, error) {
	value, err := fromJSON(raw)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case string:
		return fromText(kind, v)
	case int64:
		if kind == "$zeros" {
			return make([]byte, v), nil
		}
	case []any:
		if len(v) == 2 {
			return fromPair(kind, v[0], v[1])
		}
	}
	return nil, fmt.Errorf("%s %v is not a value", kind, raw)
}

func fromText(kind, text string) (any, error) {
	switch kind {
	case "$float":
		return strconv.ParseFloat(text, 64)
	case "$float32":
		f, err := strconv.ParseFloat(text, 32)
		return float32(f), err
	case "$bytes":
		b, err := io.ReadAll(hex.NewDecoder(strings.NewReader(text)))
		return b, err
	case "$outside":
		return outside(text), nil
	case "$execution":
		return execution{}, nil
	}
	return nil, fmt.Errorf("%s %q is not a value", kind, text)
}

func fromPair(kind string, first, second any) (any, error) {
	n, ok := second.(int64)
	switch text, isText := first.(string); {
	case ok && kind == "$repeat" && isText:
		return strings.Repeat(text, int(n)), nil
	case ok && kind == "$many":
		out := make([]any, n)
		for i := range out {
			out[i] = first
		}
		return out, nil
	case ok && kind == "$time" && !isText:
		seconds, ok := first.(int64)
		if !ok {
			break
		}
		return time.Unix(seconds, n).UTC(), nil
	}
	return nil, fmt.Errorf("%s [%v, %v] is not a value", kind, first, second)
}
