package golden_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

const (
	workflow  = "golden/Everything"
	execution = workflow + "/everything"
	pageSize  = 64 << 10
)

// call and request are the types of the same names of tests/guests/golden.
type call struct {
	Fill   int64  `msgpack:"fill"`
	Head   []byte `msgpack:"head"`
	Import string `msgpack:"import"`
	Tail   []byte `msgpack:"tail"`
	Times  int64  `msgpack:"times"`
}

type request struct {
	Calls []call `msgpack:"calls"`
	Pages int64  `msgpack:"pages"`
}

// earlier are the folders of the guest that runs begin with before they are moved, by language.
var earlier = map[string]string{"go": "tests/guests/golden-before", "rust": "tests/guests/golden-before/rust"}

// record runs the workflow of a module to its end.
func record(t *testing.T, module []byte, calls []call) recording {
	t.Helper()
	e := harness.Engine(t, harness.Store(t, "sqlite"))
	push(t, e, module)
	require.Equal(t, execution, harness.Start(t, e, workflow, request{Calls: calls, Pages: 64 << 20 / pageSize}))
	harness.Eventually(t, "the workflow is past its first sleep", func() bool {
		d, err := e.Observer().Describe(t.Context(), "", execution)
		require.NoError(t, err)
		is := func(kind string) func(host.PendingOp) bool {
			return func(p host.PendingOp) bool { return p.Kind == kind }
		}
		return d.Entries > 0 && slices.ContainsFunc(d.Pending, is(abi.OpDeferred)) &&
			!slices.ContainsFunc(d.Pending, is(abi.OpSleep))
	})
	return recordRest(t, e, module)
}

// recordMoved runs the earlier version of the workflow, moves it to a module, and runs that to its end. The module
// waits for a step that was inserted, before it comes to a step that has run.
func recordMoved(t *testing.T, language string, module []byte) recording {
	t.Helper()
	e := harness.Engine(t, harness.Store(t, "sqlite"))
	harness.Push(t, e, "golden", earlier[language])
	require.Equal(t, execution, harness.Start(t, e, workflow, request{Calls: []call{}, Pages: 64 << 20 / pageSize}))
	harness.Pending(t, e, execution, abi.OpDeferred, "answer")
	push(t, e, module)
	_, err := e.Executions().Move(t.Context(), "", execution, host.Latest)
	require.NoError(t, err)
	harness.Pending(t, e, execution, abi.OpDeferred, "open")
	return recordRest(t, e, module)
}

func push(t *testing.T, e *host.Engine, module []byte) {
	t.Helper()
	_, err := e.Deployments().Push(t.Context(), host.PushRequest{Name: "golden", Binary: module})
	require.NoError(t, err)
}

// recordRest goes on with a workflow that waits to be opened.
func recordRest(t *testing.T, e *host.Engine, module []byte) recording {
	t.Helper()
	settle := func(d journal.Deferred) { require.NoError(t, e.Executions().Settle(t.Context(), "", execution, d)) }
	settle(journal.Deferred{Name: "open", Value: harness.Encode(t, "opened")})
	harness.Pending(t, e, execution, abi.OpDeferred, "answer")
	settle(journal.Deferred{Name: "answer", Value: harness.Encode(t, "from outside")})
	harness.Pending(t, e, execution, abi.OpDeferred, "denied")
	settle(journal.Deferred{
		Name: "denied",
		Error: &abi.Error{
			Code:    abi.CodeDeferredRejected,
			Message: "denied from outside",
			Type:    "denied",
			Details: harness.Encode(t, 7),
		},
	})
	harness.Pending(t, e, execution, abi.OpDeferred, "never")
	require.NoError(t, e.Executions().Interrupt(t.Context(), "", execution, "the recording is over"))

	ended := harness.Wait(t, e, execution)
	require.Equal(t, journal.Completed, ended.State, "%v", ended.Error)
	entries, _, err := e.Observer().History(t.Context(), "", execution, 0, 1000)
	require.NoError(t, err)
	info, err := e.Deployments().Describe(t.Context(), "", "golden")
	require.NoError(t, err)
	require.Equal(t, info.Digest, ended.Digest)
	return recording{module: module, row: *ended, entries: entries, result: ended.Value}
}

// refused are calls that the host refuses, or whose ops the guest gives up again.
func refused() (calls []call) {
	add := func(times int64, name string, body []byte) {
		c := call{Head: body, Import: name, Times: times}
		if zeros := make([]byte, 1<<20); bytes.Contains(body, zeros) {
			from := bytes.Index(body, zeros)
			rest := bytes.TrimLeft(body[from:], "\x00")
			c.Head, c.Fill, c.Tail = body[:from], int64(len(body)-from-len(rest)), rest
		}
		calls = append(calls, c)
	}
	for _, name := range []string{
		abi.ImportTxExec, abi.ImportTxQuery, abi.ImportHTTP, abi.ImportHTTPAll, abi.ImportConfig,
	} {
		add(1, name, abi.Nil)
	}
	for _, kind := range []string{
		abi.OpSleep, abi.OpActivity, abi.OpDeferred, abi.OpResolve, abi.OpCall, abi.OpSend, abi.OpPoll, abi.OpPatched,
		abi.OpInterrupted,
	} {
		add(1, kind, nil)
		add(1, kind, []byte{0xc1})
		add(1, kind, []byte{0x80})
	}
	op := func(kind string, body any) { add(1, kind, abi.MustMarshal(body)) }
	long := strings.Repeat("long ", 200)
	op(abi.OpSleep, abi.Sleep{Name: long})
	op(abi.OpActivity, abi.Activity{Name: long, Input: abi.Nil})
	op(abi.OpActivity, abi.Activity{Name: "a/b \n", Input: abi.Nil})
	op(abi.OpActivity, abi.Activity{Name: "note", Key: long, Input: abi.Nil})
	op(abi.OpActivity, abi.Activity{Name: "note", Input: []byte{0xc1}})
	op(abi.OpActivity, abi.Activity{Name: "note", Input: abi.Nil, Timeout: -1})
	op(abi.OpActivity, abi.Activity{Name: "note", Input: abi.Nil, Retry: abi.Retry{Backoff: "odd"}})
	op(abi.OpActivity, abi.Activity{Name: "note", Input: abi.Nil, Retry: abi.Retry{Jitter: 2}})
	op(abi.OpDeferred, abi.Deferred{Name: long})
	op(abi.OpResolve, abi.Resolve{Name: "own", Value: []byte{0xc1}})
	op(abi.OpResolve, abi.Resolve{Name: "own", Execution: "no name", Value: abi.Nil})
	op(abi.OpCall, abi.Call{Workflow: "a/b/c", Input: abi.Nil})
	op(abi.OpCall, abi.Call{Workflow: "Callee", KeyMode: "odd", Input: abi.Nil})
	op(abi.OpSend, abi.Call{Workflow: "Callee", KeyMode: abi.KeyRaw, Key: long, Input: abi.Nil})
	op(abi.OpPoll, abi.Poll{Execution: long})
	op(abi.OpPatched, abi.Patched{ID: long})
	// Too large, one by one and together; and too many.
	op(abi.OpActivity, abi.Activity{Name: "note", Input: bin(abi.MaxBody)})
	op(abi.OpActivity, abi.Activity{Name: "note", Input: bin(abi.MaxPayload)})
	add(20, abi.OpActivity, abi.MustMarshal(abi.Activity{Name: "note", Input: bin(abi.MaxPayload - 8)}))
	add(abi.MaxOpsPerTurn+1, abi.OpSleep, abi.MustMarshal(abi.Sleep{Duration: 1}))
	return calls
}

// bin is the msgpack of n zeros.
func bin(n int) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0xc6}, uint32(n)), make([]byte, n)...)
}
