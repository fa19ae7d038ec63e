package crustertest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Replay runs the workflow of a history again with the recorded deliveries, and
// fails the test if the workflow does anything else than before. Activities and
// other workflows do not run.
func Replay(t testing.TB, h *History) {
	t.Helper()
	if err := h.Replay(); err != nil {
		t.Fatalf("%v", err)
	}
}

// Replay is the function [Replay] without a test: the error says where the
// workflow first did something else.
func (h *History) Replay() error {
	seen := *h
	seen.Events = slices.DeleteFunc(slices.Clone(h.Events), func(e Event) bool { return e.Type == Retried })
	h = &seen
	r := &replayer{history: h}
	inv := abi.Invocation{
		Body: h.Input, Execution: h.Execution, Kind: abi.InvokeWorkflow, Name: h.Workflow,
		Namespace: cmp.Or(h.Namespace, "test"), Seed: []byte(h.Execution), Time: h.Start.UnixNano(),
	}
	ex, out := guest.Default.Start(r, inv, guest.Options{RecoverPanics: true, StallLimit: 10 * time.Second})
	if ex != nil {
		defer ex.Close()
	}
	for out == nil && r.problem == nil && r.next < len(h.Events) {
		e := h.Events[r.next]
		if e.Type != Delivered {
			r.differ("the workflow waits")
			break
		}
		r.next++
		out = ex.Resume(abi.Resume{
			Deliveries: []abi.Delivery{{Error: e.Err, Op: e.Op, Value: e.Value}},
			Time:       e.Time.UnixNano(),
		})
	}
	switch {
	case r.problem != nil:
		return r.problem
	case out == nil:
		if h.Outcome.Error == nil || h.Outcome.Error.Code != abi.CodeGuestDeadlock {
			r.differ("the workflow waits")
		}
	case r.next < len(h.Events):
		r.differ("the workflow has ended")
	case !sameOutcome(*received(out), h.Outcome):
		r.differ(fmt.Sprintf("the workflow ended with %s instead of %s", renderOutcome(*out), renderOutcome(h.Outcome)))
	}
	return r.problem
}

// replayer is a host that performs nothing: it compares each request with the
// history.
type replayer struct {
	history *History
	next    int
	ops     uint32
	problem error
}

var _ guest.Host = (*replayer)(nil)

// differ records the first difference.
func (r *replayer) differ(now string) {
	if r.problem != nil {
		return
	}
	then := "the end of the history"
	if r.next < len(r.history.Events) {
		then = r.history.Events[r.next].String()
	}
	r.problem = abi.Errorf(abi.CodeNondeterminism, "%s is not deterministic: event %d\n  then: %s\n  now:  %s",
		r.history.Execution, r.next+1, then, now)
}

// Issue compares the op with the next one of the history. A history has no
// refused ops; they are refused again.
func (r *replayer) Issue(call *guest.Call, body []byte) (uint32, *abi.Error) {
	if _, refused := abi.DecodeOp(call.Name, body); refused != nil {
		return 0, refused
	}
	r.ops++
	if r.problem != nil || r.next >= len(r.history.Events) {
		r.differ("issued " + call.Name)
		return r.ops, nil
	}
	e := r.history.Events[r.next]
	if e.Type != Issued || e.Kind != call.Name || !sameValue(e.Body, body) {
		r.differ(fmt.Sprintf("issued %d %s %s", r.ops, call.Name, render(body)))
		return r.ops, nil
	}
	r.next++
	return e.Op, nil
}

// Cancel compares the cancellation with the next event of the history.
func (r *replayer) Cancel(op uint32) {
	if r.problem == nil && r.next < len(r.history.Events) {
		if e := r.history.Events[r.next]; e.Type == Canceled && e.Op == op {
			r.next++
			return
		}
	}
	r.differ(fmt.Sprintf("canceled %d", op))
}

// Do refuses, as in the recorded run.
func (r *replayer) Do(call *guest.Call, _ []byte) ([]byte, *abi.Error) {
	return nil, abi.Errorf(abi.CodeWrongContext, "%s was called in a workflow", call.Name)
}

// Log drops the record: the recorded run wrote it.
func (r *replayer) Log(int32, string) {}

// sameValue compares msgpack values by meaning: the order of map entries does
// not count.
func sameValue(a, b []byte) bool {
	ca, errA := abi.Canonical(a)
	cb, errB := abi.Canonical(b)
	if errA != nil || errB != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(ca, cb)
}

func sameOutcome(a, b abi.Outcome) bool {
	if (a.Error == nil) != (b.Error == nil) {
		return false
	}
	if a.Error != nil && a.Error.Code == abi.CodeGuestDeadlock {
		return b.Error.Code == abi.CodeGuestDeadlock
	}
	if a.Error != nil && a.Error.Code == abi.CodeGuestTrap {
		// The stack differs, the panic does not.
		first, _, _ := strings.Cut(a.Error.Message, "\n\n")
		second, _, _ := strings.Cut(b.Error.Message, "\n\n")
		return b.Error.Code == abi.CodeGuestTrap && first == second
	}
	if a.Error != nil {
		return a.Error.Code == b.Error.Code && a.Error.Message == b.Error.Message && a.Error.Type == b.Error.Type
	}
	return sameValue(a.Value, b.Value)
}

func renderOutcome(o abi.Outcome) string {
	if o.Error != nil {
		return o.Error.Error()
	}
	return render(o.Value)
}

// render renders a msgpack value for people to read.
func render(b []byte) string {
	var v any
	if err := abi.Unmarshal(b, &v); err != nil {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("%v", v)
}
