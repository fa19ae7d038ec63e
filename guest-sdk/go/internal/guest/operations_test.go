package guest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
)

// listState is a state that a copy shares its memory with: a list of numbers.
type listState struct {
	list             []int
	plain            bool
	kept             []int
	decoded, encoded *int
}

func (s *listState) Decode(data []byte) error {
	*s.decoded++
	s.list = nil
	return abi.Unmarshal(data, &s.list)
}
func (s *listState) Assign(v any)               { s.list = v.([]int) }
func (s *listState) Create(*OperationRun) error { s.list = []int{0}; return nil }
func (s *listState) Encode() ([]byte, error)    { *s.encoded++; return abi.Marshal(s.list) }
func (s *listState) Restore()                   { s.list = s.kept }
func (s *listState) Keep() bool {
	s.kept = slices.Clone(s.list)
	return s.plain
}

// lists is a registry with an entity whose operations change a list, and counts how often its state is decoded and
// encoded.
type lists struct {
	Registry
	decoded, encoded int
	log              []string
}

func (l *lists) Log(_ int32, text string)                    { l.log = append(l.log, text) }
func (*lists) Issue(*Call, []byte) (uint32, *abi.Error)      { panic("not in operations") }
func (*lists) Cancel(uint32)                                 {}
func (*lists) Do(*Call, []byte) (reply []byte, _ *abi.Error) { panic("not in these operations") }

// newLists has the operations push, which adds a number and returns the sum; fail, which changes the list and fails;
// destroy; and sum, which only looks.
func newLists(plain bool) *lists {
	l := &lists{}
	e := &Entity{Name: "List", State: &StateType{Type: reflect.TypeFor[[]int](), New: func() State {
		return &listState{plain: plain, decoded: &l.decoded, encoded: &l.encoded}
	}}}
	sum := func(s State) ([]byte, error) {
		n := 0
		for _, v := range s.(*listState).list {
			n += v
		}
		return abi.Marshal(n)
	}
	number := reflect.TypeFor[int]()
	e.Add(&Operation{
		Name:   "push",
		Input:  number,
		Output: number,
		Run: func(r *OperationRun, s State, in []byte) ([]byte, error) {
			var n int
			err := abi.Unmarshal(in, &n)
			s.(*listState).list[0]++
			s.(*listState).list = append(s.(*listState).list, n)
			r.Sent = append(r.Sent, abi.EntityMessage{Entity: "List/other", Input: in, Operation: "push"})
			r.Log(abi.LogInfo, "push "+fmt.Sprint(n))
			if err != nil {
				return nil, err
			}
			return sum(s)
		},
	})
	e.Add(&Operation{
		Name:   "fail",
		Input:  number,
		Output: number,
		Run: func(r *OperationRun, s State, _ []byte) ([]byte, error) {
			s.(*listState).list[0] += 1000
			r.Destroyed, r.Sent = true, []abi.EntityMessage{{}}
			r.Log(abi.LogInfo, "fail")
			return nil, errors.New("no")
		},
	})
	e.Add(&Operation{
		Name:   "destroy",
		Input:  number,
		Output: number,
		Run: func(r *OperationRun, s State, _ []byte) ([]byte, error) {
			r.Destroyed = true
			return sum(s)
		},
	})
	e.Add(&Operation{
		Name:     "sum",
		Input:    number,
		Output:   number,
		ReadOnly: true,
		Run:      func(_ *OperationRun, s State, _ []byte) ([]byte, error) { return sum(s) },
	})
	l.AddEntity(e)
	return l
}

func (l *lists) run(
	t require.TestingT, state []byte, version uint32, calls ...abi.EntityCall,
) (abi.OperationsReply, *abi.Error) {
	_, out := l.Start(l, abi.Invocation{
		Kind: abi.InvokeOperations, Name: "List", Execution: "test/List/1",
		Body: abi.MustMarshal(abi.Operations{Operations: calls, State: state, Version: version}),
	}, Options{})
	var reply abi.OperationsReply
	if out.Error == nil {
		require.NoError(t, abi.DecodeBody(out.Value, &reply))
		require.Len(t, reply.Replies, len(calls))
	}
	return reply, out.Error
}

func call(operation string, n int) abi.EntityCall {
	return abi.EntityCall{Input: abi.MustMarshal(n), Operation: operation}
}

// TestABatchIsTheOperationsOneByOne: whatever fails, a batch has the effect of its operations in
// invocations of their own.
func TestABatchIsTheOperationsOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var calls []abi.EntityCall
		for range rapid.IntRange(1, 30).Draw(t, "operations") {
			op := rapid.SampledFrom([]string{"push", "push", "fail", "fail", "destroy", "sum", "missing"}).Draw(
				t, "operation",
			)
			calls = append(calls, call(op, rapid.IntRange(0, 99).Draw(t, "number")))
		}
		var state []byte
		if rapid.Bool().Draw(t, "exists") {
			state = abi.MustMarshal([]int{5})
		}
		one, want := newLists(true), abi.OperationsReply{State: state}
		for _, c := range calls {
			did, err := one.run(t, want.State, 0, c)
			require.Nil(t, err)
			want.Replies, want.State = append(want.Replies, did.Replies...), did.State
		}
		for _, plain := range []bool{true, false} {
			l := newLists(plain)
			got, err := l.run(t, state, 0, calls...)
			require.Nil(t, err)
			require.Equal(t, want, got, "plain: %v", plain)
			require.Equal(t, one.log, l.log, "each record once")
		}
	})
}

// TestABatchDecodesAndEncodesOnce: so it does if no operation fails, and each that fails costs a few more at most.
func TestABatchDecodesAndEncodesOnce(t *testing.T) {
	t.Parallel()
	many := slices.Repeat([]abi.EntityCall{call("push", 1)}, 100)
	for name, c := range map[string]struct {
		plain            bool
		calls            []abi.EntityCall
		decoded, encoded int
	}{
		"all succeed":     {false, many, 1, 1},
		"the last fails":  {false, append(slices.Clone(many), call("fail", 0)), 3, 2},
		"the first fails": {false, append([]abi.EntityCall{call("fail", 0)}, many...), 2, 1},
		"many fail": {
			false, slices.Concat(many, slices.Repeat([]abi.EntityCall{call("fail", 0)}, 50)), 52, 2,
		},
		"plain, many fail": {
			true, slices.Concat(many, slices.Repeat([]abi.EntityCall{call("fail", 0)}, 50), many), 1, 1,
		},
		"a look":                 {false, []abi.EntityCall{call("sum", 0)}, 1, 0},
		"all fail":               {true, []abi.EntityCall{call("fail", 0)}, 1, 0},
		"what does not exist":    {false, []abi.EntityCall{call("missing", 0)}, 1, 0},
		"the end of it":          {false, []abi.EntityCall{call("destroy", 0)}, 1, 0},
		"the end of it, and new": {false, []abi.EntityCall{call("destroy", 0), call("fail", 0), call("push", 0)}, 1, 1},
	} {
		l := newLists(c.plain)
		_, err := l.run(t, abi.MustMarshal([]int{5}), 0, c.calls...)
		require.Nil(t, err)
		require.Equal(t, []int{c.decoded, c.encoded}, []int{l.decoded, l.encoded}, name)
	}
}

// TestAnOperationThatFailsWhenItRunsAgain: its second run counts, and it ends.
func TestAnOperationThatFailsWhenItRunsAgain(t *testing.T) {
	t.Parallel()
	l := newLists(false)
	runs := 0
	l.entities["List"].Add(&Operation{Name: "moody", Run: func(_ *OperationRun, s State, _ []byte) ([]byte, error) {
		s.(*listState).list[0] += 100
		if runs++; runs > 1 {
			return nil, errors.New("not again")
		}
		return abi.Nil, nil
	}})
	reply, err := l.run(
		t, abi.MustMarshal([]int{5}), 0, call("push", 1), call("moody", 0), call("push", 2), call("fail", 0),
		call("push", 3),
	)
	require.Nil(t, err)
	require.Equal(t, abi.MustMarshal([]int{8, 1, 2, 3}), reply.State)
	require.Equal(t, "not again", reply.Replies[1].Error.Message)
	require.Equal(t, abi.MustMarshal(14), reply.Replies[4].Value)
}

func TestStatesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	l := newLists(false)
	_, err := l.run(t, abi.MustMarshal([]int{5}), 1, call("sum", 0))
	require.Equal(t, abi.CodeStateVersion, err.Code)
	require.Contains(t, err.Message, "version 1, the module knows versions up to 0")
	_, err = l.run(t, abi.MustMarshal("no list"), 0, call("sum", 0))
	require.Equal(t, abi.CodeStateVersion, err.Code)
	require.Contains(t, err.Hint, "MigrateState")

	l.entities["List"].Add(&Operation{Name: "swell", Run: func(_ *OperationRun, s State, _ []byte) ([]byte, error) {
		s.(*listState).list = make([]int, abi.MaxState)
		return abi.Nil, nil
	}})
	_, err = l.run(t, nil, 0, call("swell", 0))
	require.Equal(t, abi.CodePayloadTooLarge, err.Code)

	l.entities["List"].Add(&Operation{Name: "talk", Run: func(*OperationRun, State, []byte) ([]byte, error) {
		return abi.MustMarshal(strings.Repeat("x", abi.MaxPayload/2)), nil
	}})
	_, err = l.run(t, nil, 0, call("talk", 0), call("talk", 0), call("talk", 0))
	require.Equal(t, abi.CodePayloadTooLarge, err.Code)
	reply, err := l.run(t, nil, 0, call("talk", 0))
	require.Nil(t, err)
	require.Nil(t, reply.Replies[0].Error)
}

func TestUnknownEntities(t *testing.T) {
	t.Parallel()
	l := newLists(false)
	l.AddEntity(&Entity{Name: "Plain"})
	for _, inv := range []abi.Invocation{
		{Kind: abi.InvokeOperations, Name: "missing"},
		{Kind: abi.InvokeOperations, Name: "Plain"},
		{Kind: abi.InvokeCall, Name: "missing"},
		{Kind: abi.InvokeCall, Name: "List"},
	} {
		_, out := l.Start(l, inv, Options{})
		require.Equal(t, abi.CodeUnknownEntity, out.Error.Code, inv)
	}
	_, out := l.Start(
		l, abi.Invocation{Kind: abi.InvokeCall, Name: "Plain", Body: abi.MustMarshal(call("x", 0))}, Options{},
	)
	require.Equal(t, abi.CodeUnknownOperation, out.Error.Code)
	for kind, name := range map[string]string{abi.InvokeOperations: "List", abi.InvokeCall: "Plain"} {
		_, out := l.Start(l, abi.Invocation{Kind: kind, Name: name, Body: []byte{0xc1}}, Options{})
		require.Equal(t, abi.CodeBadBody, out.Error.Code, kind)
	}
}
