package thirdlanguage

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
)

// greeter is the guest that has the workflow of the page, Greet, and the workflows of tests/conformance.
const greeter = "tests/thirdlanguage/conformance"

// conversation reads the bodies of the worked example from the page: the part in front of the two spaces in each line
// of its blocks.
func conversation(t *testing.T) [][]byte {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(harness.Root(), "abi", "ABI.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "<!-- begin conversation -->")
	require.True(t, found)
	part, _, found := strings.Cut(rest, "<!-- end conversation -->")
	require.True(t, found)
	var bodies [][]byte
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(part, -1) {
		var body []byte
		for line := range strings.Lines(block[1]) {
			digits, _, found := strings.Cut(strings.TrimSpace(line), "  ")
			if !found {
				continue // the indent of the closing fence
			}
			b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
			require.NoError(t, err)
			body = append(body, b...)
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// TestConversation repeats the conversation of the page with the same workflow: the guest must send exactly the bytes
// of the page.
func TestConversation(t *testing.T) {
	t.Parallel()
	said := conversation(t)
	require.Len(t, said, 10)
	m := compile(t, greeter)

	workflow := start(t, m)
	turn, err := workflow.Start(t.Context(), said[0])
	require.NoError(t, err)
	require.True(t, turn.Parked)
	require.Equal(t, []op{{abi.OpInterrupted, said[1]}, {abi.OpActivity, said[2]}}, workflow.issued)

	// The activity of the page tries a durable op (step 5), this one does not.
	activity, err := start(t, m).Start(t.Context(), said[3])
	require.NoError(t, err)
	require.False(t, activity.Parked)
	require.Equal(t, said[5], activity.Output)

	turn, err = workflow.Resume(t.Context(), said[6])
	require.NoError(t, err)
	require.True(t, turn.Parked)
	require.Equal(t, []op{{abi.OpSleep, said[7]}}, workflow.issued[2:])

	turn, err = workflow.Resume(t.Context(), said[8])
	require.NoError(t, err)
	require.False(t, turn.Parked)
	require.Equal(t, said[9], turn.Output)
	require.Empty(t, workflow.cancelled)
}

// TestDeliveries checks rules of a turn that no result shows: deliveries that no future waits for, fields in another
// order, and fields from a later version.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	said := conversation(t)
	m := compile(t, greeter)
	p := start(t, m)
	_, err := p.Start(t.Context(), said[0])
	require.NoError(t, err)
	// {"time": 7, "later": [{}], "deliveries": [{"value": h'a141', "later": 1, "op": 2, "error": nil}, … op 9 …]}
	resume := []byte("\x83\xa4time\x07\xa5later\x91\x80\xaadeliveries\x92" +
		"\x83\xa5value\xc4\x01\xc0\xa2op\x09\xa5error\xc0" +
		"\x84\xa5value\xc4\x02\xa1A\xa5later\x01\xa2op\x02\xa5error\xc0")
	turn, err := p.Resume(t.Context(), resume)
	require.NoError(t, err)
	require.True(t, turn.Parked)
	require.Len(t, p.issued, 3, "the delivery of op 2 was not applied")

	// Both in one turn: the sleep is issued for the first, and settled by the second; the third comes after the end.
	both := start(t, m)
	_, err = both.Start(t.Context(), said[0])
	require.NoError(t, err)
	greeting := []byte("\xa1A")
	turn, err = both.Resume(t.Context(), abi.MustMarshal(abi.Resume{Deliveries: []abi.Delivery{
		{Op: 2, Value: greeting},
		{Op: 3, Value: abi.Nil},
		{Op: 1, Value: abi.MustMarshal(abi.Interruption{Reason: "late"})},
	}}))
	require.NoError(t, err)
	require.False(t, turn.Parked)
	require.Equal(t, abi.MustMarshal(abi.Outcome{Value: []byte("\x81\xa8greeting\xa1A")}), turn.Output)
}

// TestInterrupt interrupts a workflow: its waits fail, their ops are cancelled, and the outcome says why.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	p := start(t, compile(t, greeter))
	_, err := p.Start(t.Context(), conversation(t)[0])
	require.NoError(t, err)
	turn, err := p.Resume(t.Context(), abi.MustMarshal(abi.Resume{Deliveries: []abi.Delivery{
		{Op: 1, Value: abi.MustMarshal(abi.Interruption{Reason: "enough"})},
	}}))
	require.NoError(t, err)
	require.False(t, turn.Parked)
	got := harness.Decode[abi.Outcome](t, turn.Output)
	require.Equal(t, abi.Errorf(abi.CodeInterrupted, "the execution was asked to stop: enough"), got.Error)
	require.Equal(t, []uint32{2}, p.cancelled)
	require.Len(t, p.issued, 2)
}

// TestUnknown shows that unknown names and kinds end in an outcome with an error.
func TestUnknown(t *testing.T) {
	t.Parallel()
	m := compile(t, greeter)
	for name, c := range map[string]struct {
		inv  abi.Invocation
		code abi.Code
	}{
		"workflow": {
			abi.Invocation{Kind: abi.InvokeWorkflow, Name: "Missing", Body: abi.Nil}, abi.CodeUnknownInvoke,
		},
		"activity": {
			abi.Invocation{Kind: abi.InvokeActivity, Name: "missing", Body: abi.Nil}, abi.CodeUnknownActivity,
		},
		"key":    {abi.Invocation{Kind: abi.InvokeKey, Name: "Missing", Body: abi.Nil}, abi.CodeUnknownInvoke},
		"no key": {abi.Invocation{Kind: abi.InvokeKey, Name: "Echo", Body: abi.Nil}, abi.CodeUnknownInvoke},
		"kind":   {abi.Invocation{Kind: "entity", Name: "Echo", Body: abi.Nil}, abi.CodeUnknownInvoke},
		"request": {
			abi.Invocation{Kind: abi.InvokeWorkflow, Name: "Greet", Body: []byte{0x05}}, abi.CodeBadInput,
		},
		"no request":    {abi.Invocation{Kind: abi.InvokeWorkflow, Name: "Sequence"}, abi.CodeBadInput},
		"key's request": {abi.Invocation{Kind: abi.InvokeKey, Name: "Greet", Body: []byte{0x05}}, abi.CodeBadInput},
		"input": {
			abi.Invocation{Kind: abi.InvokeActivity, Name: "hello", Body: []byte{0xc1}}, abi.CodeBadInput,
		},
		"more": {abi.Invocation{Kind: abi.InvokeActivity, Name: "hello", Body: []byte("\xa1A\x00")}, abi.CodeBadInput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := outcome(t, m, c.inv)
			require.NotNil(t, got.Error)
			require.Equal(t, c.code, got.Error.Code)
			require.NotEmpty(t, got.Error.Hint)
		})
	}
}

// TestManifest shows that the lists of the manifest are sorted, that a module has no more imports than it needs, and
// that it is small.
func TestManifest(t *testing.T) {
	t.Parallel()
	m := compile(t, greeter)
	packed, err := m.Describe(t.Context())
	require.NoError(t, err)
	canonical, err := abi.Canonical(packed)
	require.NoError(t, err)
	require.Equal(t, canonical, packed, "the guest encodes canonically")
	manifest := harness.Decode[abi.Manifest](t, packed)
	var workflows, activities []string
	for _, w := range manifest.Workflows {
		workflows = append(workflows, w.Name)
	}
	for _, a := range manifest.Activities {
		activities = append(activities, a.Name)
	}
	require.IsIncreasing(t, workflows)
	require.IsIncreasing(t, activities)
	require.Contains(t, m.Imports(), "cruster.http")
	require.NotContains(t, compile(t, codec).Imports(), "cruster.http", "imports show what a module can do")
	const most = 64 << 10
	require.LessOrEqual(t, len(harness.Module(t, greeter)), most)
}
