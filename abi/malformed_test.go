package abi_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

const malformedFile = "testdata/malformed.txt"

// TestRefusalsAreOfTheFormat holds the messages to guests about bodies whose parts have another type than the ABI says
// against a file. A workflow sees it, and sees it again on replay, with a newer host: no word may depend on the version
// of a library. A line that changes needs a new format of journals; lines may be added.
func TestRefusalsAreOfTheFormat(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, kind := range abi.OpKinds {
		for _, body := range malformed(t, kind) {
			decoded, err := abi.DecodeOp(kind, body)
			if decoded != nil {
				continue
			}
			require.NotContains(
				t, err.Message, "it is not what the ABI says", "%s %x: the decoder says something new", kind, body,
			)
			lines = append(lines, fmt.Sprintf("%s %x: %s %s", kind, body, err.Code, err.Message))
		}
	}
	slices.Sort(lines)
	got := strings.Join(slices.Compact(lines), "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(malformedFile, []byte(got), 0o644))
	}
	want, err := os.ReadFile(malformedFile)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// malformed are bodies of a kind of op: the right one with each part, at any depth, replaced by one of each type in
// turn.
func malformed(t *testing.T, kind string) (bodies [][]byte) {
	t.Helper()
	others := []any{
		nil, true, 1, -1, 1.5, float32(1.5), "text", []byte("bytes"),
		[]any{},
		[]any{1},
		map[string]any{"a": 1},
		map[int]int{1: 1},
		time.Unix(1, 0),
	}
	whole := wholeBodies()[kind]
	require.NotNil(t, whole, "a body of %s", kind)
	var body any
	require.NoError(t, abi.Unmarshal(abi.MustMarshal(whole), &body))
	var replace func(part any, put func(any))
	replace = func(part any, put func(any)) {
		for _, other := range others {
			put(other)
			encoded, err := abi.MarshalCanonical(body)
			require.NoError(t, err)
			bodies = append(bodies, encoded)
		}
		put(part)
		switch part := part.(type) {
		case map[string]any:
			for name, inner := range part {
				replace(inner, func(v any) { part[name] = v })
			}
		case []any:
			for i, inner := range part {
				replace(inner, func(v any) { part[i] = v })
			}
		}
	}
	replace(body, func(v any) { body = v })
	return bodies
}

// wholeBodies has for each kind of op a body in which all parts are set.
func wholeBodies() map[string]any {
	one, failure := abi.MustMarshal(
		1,
	), &abi.Error{Code: "CR-2014", Details: abi.MustMarshal(1), Message: "no", Type: "t"}
	call := abi.Call{Input: one, Workflow: "w"}
	published := []abi.Published{{Name: "a", Value: one}}
	message := abi.EntityMessage{Entity: "e/1", Input: one, Operation: "o"}
	return map[string]any{
		abi.OpSleep:       abi.Sleep{Name: "s"},
		abi.OpActivity:    abi.Activity{Name: "a", Input: one},
		abi.OpDeferred:    abi.Deferred{Name: "d"},
		abi.OpResolve:     abi.Resolve{Name: "d", Error: failure},
		abi.OpCall:        call,
		abi.OpSend:        call,
		abi.OpPoll:        abi.Poll{Execution: "w/k"},
		abi.OpInterrupted: abi.Interrupted{},
		abi.OpPatched:     abi.Patched{ID: "p"},
		abi.OpReceive:     abi.Receive{Name: "s"},
		abi.OpSignal:      abi.Signal{Name: "s", Value: one},
		abi.OpEntityCall:  message,
		abi.OpEntitySend:  message,
		abi.OpLock:        abi.Lock{Entities: []string{"e/1"}},
		abi.OpUnlock:      abi.Unlock{},
		abi.OpUpdate:      abi.Update{},
		abi.OpAnswer:      abi.Answer{ID: "i", Error: failure},
		abi.OpInterrupt:   abi.Interrupt{Reason: "r"},
		abi.OpPublish:     abi.Publish{Attributes: published, Progress: &abi.Progress{Note: "n"}, State: published},
	}
}
