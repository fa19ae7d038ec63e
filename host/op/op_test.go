package op_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 2000)
	for name, c := range map[string]struct {
		kind string
		body any
		code abi.Code
	}{
		"an unknown kind":       {"teleport", abi.Sleep{}, abi.CodeBadBody},
		"a long label":          {abi.OpSleep, abi.Sleep{Name: long}, abi.CodeBadBody},
		"a label with controls": {abi.OpSleep, abi.Sleep{Name: "\x1b[2J"}, abi.CodeBadBody},
		"no activity":           {abi.OpActivity, abi.Activity{Input: abi.Nil}, abi.CodeBadBody},
		"no input":              {abi.OpActivity, abi.Activity{Name: "a"}, abi.CodeBadBody},
		"garbage for input":     {abi.OpActivity, abi.Activity{Name: "a", Input: []byte{0xc1}}, abi.CodeBadBody},
		"too large an input": {
			abi.OpActivity, abi.Activity{Name: "a", Input: make([]byte, abi.MaxPayload+1)}, abi.CodePayloadTooLarge,
		},
		"a long key": {abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Key: long}, abi.CodeBadBody},
		"a key of no UTF-8": {
			abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Key: "\xff"}, abi.CodeBadBody,
		},
		"an unknown backoff": {
			abi.OpActivity,
			abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Backoff: "never"}},
			abi.CodeBadBody,
		},
		"a negative base": {
			abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Base: -1}}, abi.CodeBadBody,
		},
		"too much jitter": {
			abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Jitter: 1.01}}, abi.CodeBadBody,
		},
		"no jitter at all": {
			abi.OpActivity,
			abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Jitter: math.NaN()}},
			abi.CodeBadBody,
		},
		"a deferred of no name": {abi.OpDeferred, abi.Deferred{}, abi.CodeBadBody},
		"a resolve of no name":  {abi.OpResolve, abi.Resolve{Value: abi.Nil}, abi.CodeBadBody},
		"a resolve of no value": {abi.OpResolve, abi.Resolve{Name: "d"}, abi.CodeBadBody},
		"a resolve far away": {
			abi.OpResolve, abi.Resolve{Name: "d", Value: abi.Nil, Execution: long}, abi.CodeBadBody,
		},
		"a call without input": {abi.OpCall, abi.Call{Workflow: "W"}, abi.CodeBadBody},
		"a call far away":      {abi.OpSend, abi.Call{Workflow: long, Input: abi.Nil}, abi.CodeBadBody},
		"a poll far away":      {abi.OpPoll, abi.Poll{Execution: long}, abi.CodeBadBody},
		"a poll of controls":   {abi.OpPoll, abi.Poll{Execution: "a\x00b"}, abi.CodeBadBody},
		"a list":               {abi.OpInterrupted, []int{1}, abi.CodeBadBody},
	} {
		_, err := op.New(c.kind, abi.MustMarshal(c.body), 1, 1)
		require.NotNil(t, err, name)
		require.Equal(t, c.code, err.Code, name)
	}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	o := &op.Op{}
	require.False(t, o.Settled())
	o.IssuedAt = 5
	o.Settle(abi.Outcome{Value: []byte{1}}, 2, 3)
	o.Settle(abi.Outcome{Value: []byte{9}}, 9, 9)
	require.Equal(t, []byte{1}, o.Outcome.Value, "the first outcome stands")
	require.EqualValues(t, 2, o.Attempts)
	require.EqualValues(t, 5, o.ReadyAt, "not before it was asked for")

	journaled := &op.Op{Journaled: true}
	journaled.Settle(abi.Outcome{}, 1, 1)
	require.Nil(t, journaled.Outcome, "a transaction has delivered it")
}
