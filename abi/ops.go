package abi

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// Sleep is the body of [OpSleep]. It is delivered with nil once Duration has passed since the journal time at which it
// was issued.
type Sleep struct {
	// Duration in nanoseconds. Zero or less ends at once, but is still an op.
	Duration int64 `msgpack:"duration"`
	// Name is an optional label, part of the op's identity.
	Name string `msgpack:"name"`
}

// Activity is the body of [OpActivity]. It is delivered with the result of the activity, or with the error of its last
// attempt.
type Activity struct {
	Input []byte `msgpack:"input"`
	// Key is an explicit identity; empty means the hash of Input.
	Key  string `msgpack:"key"`
	Name string `msgpack:"name"`
	// Retry says what happens after a failed attempt.
	Retry Retry `msgpack:"retry"`
	// Timeout bounds one attempt, in nanoseconds; 0 means the host's default.
	Timeout int64 `msgpack:"timeout"`
}

// Deferred is the body of [OpDeferred]: await a named promise of this execution. It is delivered with the value it was
// resolved with, or with the error it was rejected with.
type Deferred struct {
	Name string `msgpack:"name"`
}

// Resolve is the body of [OpResolve]: resolve or reject a named promise. It is delivered with true, or with false if
// the promise was already settled.
type Resolve struct {
	// Error rejects the promise; nil resolves it with Value.
	Error *Error `msgpack:"error"`
	// Execution is the id of the execution that owns the promise; empty means this one.
	Execution string `msgpack:"execution"`
	Name      string `msgpack:"name"`
	Value     []byte `msgpack:"value"`
}

// Receive is the body of [OpReceive]: wait for the next signal of a name. It is delivered with the value of that
// signal. Signals are delivered in the order in which they were sent, each to one op.
//
// An op that is open at the end of a turn acknowledges all signals of its name that were delivered before. Until then
// the host keeps them: see [Continue].
type Receive struct {
	Name string `msgpack:"name"`
}

// Signal is the body of [OpSignal]: send a signal to another execution. It is delivered with nil once the signal is
// durable.
type Signal struct {
	// Execution is the name of the execution that is to receive it.
	Execution string `msgpack:"execution"`
	Name      string `msgpack:"name"`
	Value     []byte `msgpack:"value"`
}

// How the key of a [Call] is used.
const (
	// KeyDerived asks for the key that the workflow derives from its request.
	KeyDerived = ""
	// KeyHashed uses the SHA-256 of the given key.
	KeyHashed = "hashed"
	// KeyRaw uses the given key as it is.
	KeyRaw = "raw"
)

// The fates of the callee of a [Call] that its caller gives up.
const (
	// OnCancelAbandon leaves it alone. An empty field means the same.
	OnCancelAbandon = "abandon"
	// OnCancelCancel asks it to stop, as an interrupt does.
	OnCancelCancel = "cancel"
	// OnCancelTerminate ends it without asking: its cleanup does not run.
	OnCancelTerminate = "terminate"
)

// Call is the body of [OpCall] and [OpSend]: start another workflow through its client. A call is delivered with the
// workflow's result or error, a send with the id of the execution as soon as its start is durable.
type Call struct {
	Input   []byte `msgpack:"input"`
	Key     string `msgpack:"key"`
	KeyMode string `msgpack:"key_mode"`
	// OnCancel is the fate of the callee if this op started it and is given up: it is cancelled, or the caller ends
	// while it is pending. It is no part of the op's identity, and a send has none.
	OnCancel string `msgpack:"on_cancel"`
	// Workflow is "Name" for one of the caller's deployment or "deployment/Name".
	Workflow string `msgpack:"workflow"`
}

// Poll is the body of [OpPoll]: look at another execution. It is delivered with a [PollReply].
type Poll struct {
	Execution string `msgpack:"execution"`
}

// PollReply is the state of an execution; Outcome is set if it has ended.
type PollReply struct {
	Outcome *Outcome `msgpack:"outcome"`
	State   string   `msgpack:"state"`
}

// Interrupt is the body of [OpInterrupt]: ask another execution to stop. It is delivered with nil once the request is
// durable.
type Interrupt struct {
	// Execution is the name of the execution that is to stop.
	Execution string `msgpack:"execution"`
	Reason    string `msgpack:"reason"`
}

// Interrupted is the body of [OpInterrupted]: wait until a client asks this execution to stop. It is delivered with an
// [Interruption].
type Interrupted struct{}

// Interruption says why an execution was asked to stop.
type Interruption struct {
	Reason string `msgpack:"reason"`
}

// Patched is the body of [OpPatched]: ask whether this run takes a change of the code. It is delivered at once, with
// true if the run had not yet passed this point when it came to the changed code, and with false if it had: see the
// specification.
type Patched struct {
	// ID names the change.
	ID string `msgpack:"id"`
}

// SQL is the body of [ImportTxExec] and [ImportTxQuery]. Args is one msgpack array; $1 stands for its first element.
type SQL struct {
	Args  []byte `msgpack:"args"`
	Query string `msgpack:"query"`
}

// ExecReply is the reply of [ImportTxExec].
type ExecReply struct {
	RowsAffected int64 `msgpack:"rows_affected"`
}

// QueryReply is the reply of [ImportTxQuery]. Rows is a msgpack array of arrays: nil, bool, int, float, string, bin or
// timestamp.
type QueryReply struct {
	Columns []string `msgpack:"columns"`
	Rows    [][]any  `msgpack:"rows"`
}

// TxRollback is the body of [ImportTxRollback]. The reply is nil.
type TxRollback struct{}

// Header is one header line of an HTTP request or response.
type Header struct {
	Name  string `msgpack:"name"`
	Value string `msgpack:"value"`
}

// HTTPRequest is the body of [ImportHTTP].
type HTTPRequest struct {
	Body    []byte   `msgpack:"body"`
	Headers []Header `msgpack:"headers"`
	Method  string   `msgpack:"method"`
	// Timeout in nanoseconds; 0 means the host's default.
	Timeout int64  `msgpack:"timeout"`
	URL     string `msgpack:"url"`
}

// HTTPResponse is the reply of [ImportHTTP].
type HTTPResponse struct {
	Body    []byte   `msgpack:"body"`
	Headers []Header `msgpack:"headers"`
	Status  int      `msgpack:"status"`
}

// HTTPAll is the body of [ImportHTTPAll].
type HTTPAll struct {
	Requests HTTPRequests `msgpack:"requests"`
}

// ResponseRoom is the part that a response with these headers and a body of so many bytes takes of the room that
// the responses of one [ImportHTTPAll] have together.
func ResponseRoom(headers []Header, body int64) int64 {
	const each = 32 // the overhead of the form
	room := body + each
	for _, h := range headers {
		room += int64(len(h.Name) + len(h.Value) + each)
	}
	return room
}

// HTTPAllReply is the reply of [ImportHTTPAll]: the results are in the order of the requests.
type HTTPAllReply struct {
	Results []HTTPResult `msgpack:"results"`
}

// HTTPResult is the result of one request: an error, or a response.
type HTTPResult struct {
	Error    *Error        `msgpack:"error"`
	Response *HTTPResponse `msgpack:"response"`
}

// HTTPRequests are at most [MaxHTTPAll]. A longer list is refused before it takes memory.
type HTTPRequests []HTTPRequest

// DecodeMsgpack implements msgpack.CustomDecoder.
func (r *HTTPRequests) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return err
	}
	if n > MaxHTTPAll {
		return fmt.Errorf("%d requests are more than %d", n, MaxHTTPAll)
	}
	*r = nil
	for range n {
		var one HTTPRequest
		if err := d.Decode(&one); err != nil {
			return err
		}
		*r = append(*r, one)
	}
	return nil
}

// ConfigRequest is the body of [ImportConfig].
type ConfigRequest struct {
	Name string `msgpack:"name"`
}

// ConfigReply is the reply of [ImportConfig].
type ConfigReply struct {
	Found bool   `msgpack:"found"`
	Value string `msgpack:"value"`
}
