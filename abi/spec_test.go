package abi_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
)

const specFile = "ABI.md"

// conversation is the worked example of the specification: a workflow that calls an activity, sleeps and returns.
func conversation() []struct {
	title string
	body  any
} {
	const started = 1_767_225_600_000_000_000 // 2026-01-01T00:00:00Z
	return []struct {
		title string
		body  any
	}{
		{"Host calls `cruster_start(%d)`; the guest takes this Invocation with `input`:", abi.Invocation{
			Body: bin(map[string]any{"name": "Ada"}), Execution: "greetings/Greet/ada", Kind: abi.InvokeWorkflow,
			Name: "Greet", Namespace: "default", Seed: []byte("0123456789abcdef"), Time: started,
		}},
		{
			"Guest calls `interrupted(ptr, %d)`, so that it learns of a request to stop. The result is **1**, the " +
				"op's number:",
			abi.Interrupted{},
		},
		{
			"Guest calls `activity(ptr, %d)`. The result is **2**. All its coroutines wait now, so `cruster_start` " +
				"returns **1** (parked):",
			abi.Activity{
				Input: bin("Ada"), Name: "hello", Retry: abi.Retry{Retries: 3}, Timeout: 30_000_000_000,
			},
		},
		{"The host commits, then runs the activity in *another* instance with `cruster_start(%d)`:", abi.Invocation{
			Attempt:        1,
			Body:           bin("Ada"),
			Execution:      "greetings/Greet/ada",
			IdempotencyKey: "6c1f9d2b8a3e47c05d9be0f1a2733c44-b7d04c9e215f8a63e0c4f1d27a9b5836",
			Kind:           abi.InvokeActivity,
			Name:           "hello",
			Namespace:      "default",
			Time:           started + 1_500_000,
		}},
		{
			"The activity calls `sleep`, a durable op that is not available there. The result is **-%d**: " +
				"an Error of that many bytes is pending, and `input` yields it:",
			*abi.Errorf(abi.CodeWrongContext, "sleep is not available in an activity").
				WithHint("Make durable calls in the workflow's execute: return from the activity first."),
		},
		{
			"The activity handles that, calls `output(ptr, %d)` with its Outcome, and returns **0** (done). The host " +
				"discards its instance:",
			abi.Outcome{Value: bin("Hello, Ada!")},
		},
		{"The host calls `cruster_resume(%d)` on the workflow's instance; `input` yields:", abi.Resume{
			Deliveries: []abi.Delivery{{Op: 2, Value: bin("Hello, Ada!")}}, Entries: 1, Time: started + 4_000_000,
		}},
		{
			"Guest calls `sleep(ptr, %d)`. The result is **3**. It parks again, returning **1**. " +
				"Until the sleep is over the host may drop the instance; it would replay all of the above into a new one:",
			abi.Sleep{Duration: 3_600_000_000_000},
		},
		{
			"An hour later: `cruster_resume(%d)`:",
			abi.Resume{
				Deliveries: []abi.Delivery{{Op: 3, Value: abi.Nil}}, Entries: 2, Time: started + 3_600_004_500_000,
			},
		},
		{
			"Guest calls `output(ptr, %d)` and returns **0**. Op 1 was never delivered, which is fine:",
			abi.Outcome{Value: bin(map[string]any{"greeting": "Hello, Ada!"})},
		},
	}
}

// renderConversation renders the example in the form of the specification.
func renderConversation(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i, step := range conversation() {
		packed := abi.MustMarshal(step.body)
		fmt.Fprintf(&b, "\n%d. %s\n\n    ```\n", i+1, fmt.Sprintf(step.title, len(packed)))
		var fields map[string]msgpack.RawMessage
		require.NoError(t, msgpack.Unmarshal(packed, &fields))
		rebuilt := packed[:1:1]
		fmt.Fprintf(&b, "    %x  a map of %d\n", packed[:1], len(fields))
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			key := abi.MustMarshal(name)
			if len(fields[name]) == 0 { // how the decoder renders nil
				fields[name] = abi.Nil
			}
			rebuilt = append(append(rebuilt, key...), fields[name]...)
			fmt.Fprintf(&b, "    %x %x  %s: %s\n", key, []byte(fields[name]), name, diagnose(t, fields[name]))
		}
		require.True(t, bytes.Equal(packed, rebuilt))
		b.WriteString("    ```\n")
	}
	return b.String()
}

// TestSpecificationExample checks that the worked example has the bytes that this package encodes.
func TestSpecificationExample(t *testing.T) {
	t.Parallel()
	spec, err := os.ReadFile(specFile)
	require.NoError(t, err)
	between := regexp.MustCompile(`(?s)(<!-- begin conversation -->\n).*(<!-- end conversation -->)`)
	require.True(t, between.Match(spec))
	want := between.ReplaceAllStringFunc(string(spec), func(string) string {
		return "<!-- begin conversation -->\n" + renderConversation(t) + "\n<!-- end conversation -->"
	})
	if *update {
		require.NoError(t, os.WriteFile(specFile, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(spec), "regenerate with: make generate")
}

// TestSpecificationIsComplete finds every name of the contract in the text.
func TestSpecificationIsComplete(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(specFile)
	require.NoError(t, err)
	spec := string(data)
	for _, name := range slices.Concat(abi.OpKinds, abi.ImmediateCalls, []string{
		abi.ImportInput, abi.ImportOutput, abi.ImportLog, abi.ImportCancel, abi.ImportOperation,
		abi.ExportInitialize, abi.ExportABI, abi.ExportDescribe, abi.ExportStart, abi.ExportResume, abi.ExportMemory,
	}) {
		require.Contains(t, spec, "`"+name, "%s is not specified", name)
	}
	key, err := hash.Of(abi.MustMarshal(map[string]string{"order_id": "42"}))
	require.NoError(t, err)
	require.Contains(t, spec, key, "the example of a key")
	for _, body := range newBodies() {
		name := strings.TrimPrefix(fmt.Sprintf("%T", body), "*abi.")
		require.Contains(t, spec, "### "+name+"\n", "%s has no section", name)
		section := spec[strings.Index(spec, "### "+name+"\n")+4:]
		section = section[:strings.Index(section+"\n#", "\n#")]
		for field := range decodedFields(t, body) {
			require.Contains(t, section, "| `"+field+"`", "%s.%s is not specified", name, field)
		}
	}
}

func decodedFields(t *testing.T, body any) map[string]msgpack.RawMessage {
	t.Helper()
	var fields map[string]msgpack.RawMessage
	require.NoError(t, msgpack.Unmarshal(abi.MustMarshal(body), &fields))
	return fields
}
