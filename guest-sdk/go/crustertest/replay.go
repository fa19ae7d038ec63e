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

// Replay runs the workflow of a history again with the recorded deliveries, and fails the test if the workflow does
// anything else than before. Activities and other workflows do not run. Changes of the code that the history does not
// know are not taken: [cruster.Patched] is false for them, as for a run that is moved. All runs of an execution that
// has continued as new are checked.
func Replay(t testing.TB, h *History) {
	t.Helper()
	if err := h.Replay(); err != nil {
		t.Fatalf("%v", err)
	}
}

// Replay is the function [Replay] without a test: the error says where the workflow first did something else.
func (h *History) Replay() error {
	for i := range h.Before {
		if err := h.Before[i].Replay(); err != nil {
			return err
		}
	}
	seen := *h
	r := &replayer{history: &seen, now: h.Start, bubble: newBubble()}
	seen.Events, r.entries = visible(h.Events)
	h = &seen
	defer r.close()
	out, err := r.play()
	if err != nil {
		return err
	}
	switch {
	case r.problem != nil:
		return r.problem
	case out == nil:
		if h.Outcome.Error == nil || h.Outcome.Error.Code != abi.CodeGuestDeadlock {
			r.differ(difference{now: r.waits()})
		}
	case r.next < len(h.Events) || !sameOutcome(*received(out), h.Outcome):
		r.differ(difference{now: renderEnd(*received(out))})
	}
	return r.problem
}

// play runs the workflow up to its end, or to the first difference. Without either there is no outcome.
func (r *replayer) play() (*abi.Outcome, error) {
	h := r.history
	inv := abi.Invocation{
		Body: h.Input, Execution: h.Execution, Kind: abi.InvokeWorkflow, Name: h.Workflow,
		Namespace: cmp.Or(h.Namespace, "test"), Seed: h.seed(), Time: h.Start.UnixNano(), Unread: h.Given,
	}
	out, err := r.turn(func() (out *abi.Outcome) {
		r.ex, out = cmp.Or(h.code, guest.Default).Start(r, inv, guest.Options{RecoverPanics: true, StallLimit: forever})
		return out
	})
	for out == nil && err == nil && r.problem == nil {
		if op, ok := r.nextUnpatched(); ok {
			out, err = r.resume(0, abi.Delivery{Op: op, Value: abi.MustMarshal(false)})
			continue
		}
		if r.next >= len(h.Events) {
			break
		}
		e := h.Events[r.next]
		if e.Type != Delivered {
			r.differ(difference{now: r.waits()})
			break
		}
		r.next, r.now = r.next+1, e.Time
		r.closeOp(e.Op)
		out, err = r.resume(r.entries[r.next-1], abi.Delivery{Error: e.Err, Op: e.Op, Value: e.Value})
	}
	return out, err
}

// visible are the events that a workflow sees, without attempts that are repeated; and for each how many entries the
// journal has with it.
func visible(all []Event) (events []Event, entries []uint64) {
	n := uint64(0)
	for _, e := range all {
		if e.Type == Delivered || e.Type == Retried {
			n++
		}
		if e.Type != Retried {
			events, entries = append(events, e), append(entries, n)
		}
	}
	return events, entries
}

// resume delivers an outcome. Entries is how many the journal has with it; 0 if it is not in the journal.
func (r *replayer) resume(entries uint64, d abi.Delivery) (*abi.Outcome, error) {
	return r.turn(func() *abi.Outcome {
		return r.ex.Resume(abi.Resume{Deliveries: []abi.Delivery{d}, Entries: entries, Time: r.now.UnixNano()})
	})
}

// turn has the workflow take a turn. The outcome may be that it cannot.
func (r *replayer) turn(take func() *abi.Outcome) (*abi.Outcome, error) {
	var out *abi.Outcome
	if err := r.bubble.turn(r.now, replayTurnLimit, func() { out = take() }); err != nil {
		if err.Code == abi.CodeWrongContext {
			return nil, err
		}
		return &abi.Outcome{Error: err}, nil
	}
	return out, nil
}

func (r *replayer) close() {
	if !r.bubble.stuck && r.ex != nil {
		_ = r.bubble.do(replayTurnLimit, r.ex.Close) // if it fails, its goroutines stay
	}
	r.bubble.close()
}

// replayTurnLimit bounds a turn in real time.
const replayTurnLimit = defaultTurnLimit

// replayer is a host that performs nothing: it compares each request with the history.
type replayer struct {
	history *History
	bubble  *bubble
	ex      *guest.Execution
	entries []uint64 // of the journal, with each event
	next    int
	now     time.Time
	ops     uint32
	problem error
	open    []Event // ops that the workflow waits for
	// unpatched are questions about changes that the history does not know: the execution had passed that point before.
	// They have numbers of their own.
	unpatched []uint32
	asked     uint32
}

// firstUnpatched is above the numbers of all ops of a history.
const firstUnpatched = 1 << 31

// nextUnpatched takes a question that is to be answered with false.
func (r *replayer) nextUnpatched() (uint32, bool) {
	if len(r.unpatched) == 0 {
		return 0, false
	}
	op := r.unpatched[0]
	r.unpatched = r.unpatched[1:]
	return op, true
}

var _ guest.Host = (*replayer)(nil)

// Issue compares the op with the next one of the history. A history has no refused ops; they are refused again.
func (r *replayer) Issue(call *guest.Call, body []byte) (uint32, *abi.Error) {
	if err := r.bubble.gate.enter(); err != nil {
		return 0, err
	}
	defer r.bubble.gate.leave()
	if _, refused := abi.DecodeOp(call.Name, body); refused != nil {
		return 0, refused
	}
	if call.Name == abi.OpPatched && !r.expects(call.Name, body) {
		r.asked++
		r.unpatched = append(r.unpatched, firstUnpatched+r.asked)
		return firstUnpatched + r.asked, nil
	}
	r.ops++
	if r.problem != nil || !r.expects(call.Name, body) {
		r.differOp(Event{Type: Issued, Op: r.ops, Kind: call.Name, Name: opName(call.Name, body), Body: body})
		return r.ops, nil
	}
	e := r.history.Events[r.next]
	r.next++
	r.open = append(r.open, e)
	return e.Op, nil
}

// waits describes the waits of the workflow.
func (r *replayer) waits() string {
	var names []string
	for _, e := range r.open {
		if e.Kind != abi.OpInterrupted && e.Kind != abi.OpUpdate {
			names = append(names, strings.TrimSpace(fmt.Sprintf("%d %s %s", e.Op, e.Kind, e.Name)))
		}
	}
	return "waits for " + cmp.Or(strings.Join(names, ", "), "nothing")
}

// closeOp forgets an op that the workflow does not wait for any more.
func (r *replayer) closeOp(op uint32) {
	r.open = slices.DeleteFunc(r.open, func(e Event) bool { return e.Op == op })
}

// expects tells whether the next event of the history is this op.
func (r *replayer) expects(kind string, body []byte) bool {
	if r.next >= len(r.history.Events) {
		return false
	}
	e := r.history.Events[r.next]
	return e.Type == Issued && e.Kind == kind && sameValue(e.Body, body)
}

// Cancel compares the cancellation with the next event of the history.
func (r *replayer) Cancel(op uint32) {
	if r.bubble.gate.enter() != nil {
		return
	}
	defer r.bubble.gate.leave()
	if r.problem == nil && r.next < len(r.history.Events) {
		if e := r.history.Events[r.next]; e.Type == Canceled && e.Op == op {
			r.next++
			r.closeOp(op)
			return
		}
	}
	r.differOp(Event{Type: Canceled, Op: op})
}

// Do refuses, as in the recorded run.
func (r *replayer) Do(call *guest.Call, _ []byte) ([]byte, *abi.Error) {
	return nil, refuseCall(call.Name)
}

// Log drops the record: the recorded run wrote it.
func (r *replayer) Log(int32, string) {}

// sameValue compares msgpack values by meaning: the order of map entries does not count.
func sameValue(a, b []byte) bool {
	ca, errA := abi.Canonical(a)
	cb, errB := abi.Canonical(b)
	if errA != nil || errB != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(ca, cb)
}

func sameOutcome(a, b abi.Outcome) bool {
	if a.Continue != nil || b.Continue != nil {
		return a.Continue != nil && b.Continue != nil && sameValue(a.Continue.Input, b.Continue.Input)
	}
	if (a.Error == nil) != (b.Error == nil) {
		return false
	}
	if a.Error != nil {
		switch a.Error.Code {
		case abi.CodeGuestDeadlock, abi.CodeBlockingSleep, abi.CodeGuestTimeout:
			return b.Error.Code == a.Error.Code
		case abi.CodeGuestTrap:
			return b.Error.Code == a.Error.Code && withoutLines(a.Error.Message) == withoutLines(b.Error.Message)
		}
		return a.Error.Code == b.Error.Code && a.Error.Message == b.Error.Message && a.Error.Type == b.Error.Type
	}
	return sameValue(a.Value, b.Value)
}

// withoutLines returns the message of a panic without its line numbers: a change of the code moves
// them.
func withoutLines(message string) string {
	if i := strings.LastIndex(message, " (in "); i >= 0 {
		return message[:i]
	}
	return message
}
