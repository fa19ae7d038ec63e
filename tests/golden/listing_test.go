package golden_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// listing shows a recording to readers: its entries, and the workflow's result.
func (r recording) listing(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(
		&out, "%s, format %d, %d bytes of memory\n\nentries\n", r.row.Name(), r.row.Pinned.Format, r.row.Pinned.Memory,
	)
	for _, en := range r.entries {
		fmt.Fprintf(
			&out, "  %d turn %d at +%v: %s of op %d, %s", en.Seq, en.Turn, time.Duration(en.At-r.row.Pinned.Time),
			en.Kind, en.Op.Number, en.Op.Kind,
		)
		if en.Op.Name != "" {
			fmt.Fprintf(&out, " %q", en.Op.Name)
		}
		if en.Op.Key != "" {
			fmt.Fprintf(&out, " key %q", en.Op.Key)
		}
		fmt.Fprintf(&out, " (%d), attempts %d: %s", en.Op.Occurrence, en.Attempts, readable(t, en.Value))
		if en.Error != nil {
			fmt.Fprintf(&out, " error %s", errorText(en.Error))
		}
		if en.Waiting != nil {
			fmt.Fprintf(&out, ", then waiting for %x", en.Waiting.Steps)
		}
		fmt.Fprintln(&out)
	}
	fmt.Fprintf(&out, "\nresult\n")
	for _, line := range r.saw(t) {
		fmt.Fprintf(&out, "  %s\n", line)
	}
	return out.String()
}

// saw is the result, one line for each thing that the workflow has seen.
func (r recording) saw(t *testing.T) (lines []string) {
	t.Helper()
	var result []struct {
		Value any    `msgpack:"value"`
		What  string `msgpack:"what"`
	}
	require.NoError(t, abi.Unmarshal(r.result, &result))
	for _, s := range result {
		lines = append(lines, s.What+": "+text(t, s.Value))
	}
	return lines
}

func readable(t *testing.T, value []byte) string {
	t.Helper()
	if len(value) == 0 {
		return "no value"
	}
	var v any
	require.NoError(t, abi.Unmarshal(value, &v))
	return text(t, v)
}

// text shows a value as JSON; bytes that are an error show its message.
func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(shown(v))
	require.NoError(t, err)
	return string(out)
}

func shown(v any) any {
	switch v := v.(type) {
	case []byte:
		var e abi.Error
		if abi.Unmarshal(v, &e) == nil && e.Code != "" {
			return errorText(&e)
		}
		return fmt.Sprintf("bytes %x", v)
	case float64:
		return fmt.Sprintf("%v, bits %x", v, math.Float64bits(v)) // JSON has no NaN
	case float32:
		return fmt.Sprintf("%v, bits %x", v, math.Float32bits(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = shown(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = shown(v[k])
		}
		return out
	}
	return v
}

func errorText(e *abi.Error) string {
	return fmt.Sprintf(
		"%s %q type %q hint %q retryable %v details %x", e.Code, e.Message, e.Type, e.Hint, e.Retryable, e.Details,
	)
}
