package guest

import (
	"github.com/cruster/cruster/abi"
)

// warmUps is the number of rounds: the second reuses the leftovers of the first.
const warmUps = 2

// WarmUp runs a small workflow and an activity that are no part of the module. The host takes an
// image of the module afterwards, and every instance begins with it: so it begins with the tables
// of interfaces, the thread and its stack, and the memory spans that the first call would otherwise
// have to make, each time anew. It also prepares the codec for the types of the module. Nothing of
// the module's own code runs. It reports whether all went as it should, which is for tests.
func WarmUp() bool {
	before := otherGoroutines()
	growStack()
	for range warmUps {
		if !warmUpOnce() {
			return false
		}
	}
	Default.warmTypes()
	fillSpans()
	return otherGoroutines() == before
}

// growStack makes the stack of the goroutine large enough for most code that runs on it: it would
// be copied, frame by frame, when it has to grow.
//
//go:noinline
func growStack() { _ = useStack([12 << 10]byte{}) }

//go:noinline
func useStack(room [12 << 10]byte) byte { return room[len(room)-1] }

// spans keeps the compiler from leaving out the work of fillSpans.
var spans struct {
	bytes    []byte
	pointers []*byte
}

// fillSpans allocates an object of every small size. Go takes memory for objects of a size when the first of them is
// wanted, which costs twenty times as much as the object.
func fillSpans() {
	const largest, step = 1 << 10, 8
	for size := step; size <= largest; size += step {
		spans.bytes, spans.pointers = make([]byte, size), make([]*byte, size/step)
	}
	spans.bytes, spans.pointers = nil, nil
}

func warmUpOnce() bool {
	r, op, h := &Registry{}, &Call{Name: "warm"}, &warmUpHost{}
	r.AddActivity(&Activity{Name: "warm", Run: func(_ Attempt, body []byte) ([]byte, error) {
		var in map[string]any
		if err := abi.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		if err := warmSQL(); err != nil {
			return nil, err
		}
		return Encode("the result", in)
	}})
	r.AddWorkflow(&Workflow{Name: "warm", Interrupted: op, Run: func(s Scope, body []byte) ([]byte, error) {
		growStack()
		step := s.Issue(op, Label{"activity", "warm"}, NewActivityBody(&abi.Activity{Name: "warm"}).With(body))
		if _, err := s.Await("activity", step); err != nil {
			return nil, err
		}
		value, _, err := step.Result()
		return value, err
	}})
	body := abi.MustMarshal(map[string]any{"number": 1, "text": "warm"})
	inv, err := DecodeInvocation(abi.MustMarshal(&abi.Invocation{
		Kind:      abi.InvokeActivity,
		Name:      "warm",
		Body:      body,
		Attempt:   1,
		Execution: "warm/Up/1",
		Namespace: "warm",
		Time:      1,
	}))
	if err != nil {
		return false
	}
	_, outcome := r.Start(h, inv, Options{})
	if outcome == nil || outcome.Error != nil {
		return false
	}
	EncodeOutcome(outcome)

	if Default.warmEntity != nil && !Default.warmEntity(h, inv) {
		return false
	}
	inv.Kind = abi.InvokeWorkflow
	ex, _ := r.Start(h, inv, Options{})
	if ex == nil {
		return false
	}
	resume, err := DecodeResume(
		abi.MustMarshal(&abi.Resume{Deliveries: []abi.Delivery{{Op: h.issued, Value: outcome.Value}}, Time: 2}), nil,
	)
	if err != nil {
		return false
	}
	if outcome = ex.Resume(resume); outcome == nil || outcome.Error != nil {
		return false
	}
	EncodeOutcome(outcome)
	return true
}

// warmSQL encodes a statement, and decodes a host's answer.
func warmSQL() error {
	values := []any{int64(1), "warm", nil, true, 1.5, []byte{1}}
	if _, err := EncodeSQL("SELECT", values); err != nil {
		return err
	}
	if _, err := DecodeExecReply(abi.MustMarshal(&abi.ExecReply{RowsAffected: 1})); err != nil {
		return err
	}
	_, err := DecodeQueryReply(abi.MustMarshal(&abi.QueryReply{Columns: []string{"warm"}, Rows: [][]any{values}}))
	return err
}

// warmState is the state of an entity that is no part of the module.
type warmState struct{ value map[string]any }

// Decode implements [State].
func (s *warmState) Decode(data []byte) error { return abi.Unmarshal(data, &s.value) }

// Assign implements [State].
func (*warmState) Assign(any) {}

// Create implements [State].
func (*warmState) Create(*OperationRun) error { return nil }

// Encode implements [State].
func (s *warmState) Encode() ([]byte, error) { return abi.Marshal(s.value) }

// Keep implements [State].
func (*warmState) Keep() bool { return true }

// Restore implements [State].
func (*warmState) Restore() {}

// warmUpOperations runs an operation that is no part of the module.
func warmUpOperations(h Host, inv abi.Invocation) bool {
	e := &Entity{Name: "warm", State: &StateType{New: func() State { return &warmState{} }}}
	e.Add(&Operation{
		Name: "warm", Run: func(_ *OperationRun, _ State, input []byte) ([]byte, error) { return input, nil },
	})
	r := &Registry{}
	r.AddEntity(e)
	inv.Kind = abi.InvokeOperations
	inv.Body = abi.MustMarshal(&abi.Operations{
		Operations: []abi.EntityCall{{Input: inv.Body, Operation: "warm"}}, State: inv.Body,
	})
	_, outcome := r.Start(h, inv, Options{})
	if outcome == nil || outcome.Error != nil {
		return false
	}
	EncodeOutcome(outcome)
	return true
}

// warmUpHost takes ops and does nothing about them.
type warmUpHost struct{ issued uint32 }

// Issue implements [Host].
func (h *warmUpHost) Issue(*Call, []byte) (uint32, *abi.Error) { h.issued++; return h.issued, nil }

// Cancel implements [Host].
func (*warmUpHost) Cancel(uint32) {}

// Do implements [Host].
func (*warmUpHost) Do(*Call, []byte) ([]byte, *abi.Error) { return nil, nil }

// Log implements [Host].
func (*warmUpHost) Log(int32, string) {}
