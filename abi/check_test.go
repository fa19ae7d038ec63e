package abi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"a", "42", "order/7", "Grüße", "with space", strings.Repeat("k", MaxKey), "..", "'; --",
	} {
		require.NoError(t, CheckKey(good), good)
	}
	for name, bad := range map[string]string{
		"empty":        "",
		"too long":     strings.Repeat("k", MaxKey+1),
		"not UTF-8":    "\xff",
		"a zero":       "a\x00",
		"a newline":    "a\nb",
		"an escape":    "\x1b[0m",
		"a C1 control": "a\u0085b",
	} {
		require.Equal(t, CodeBadKey, CodeOf(CheckKey(bad)), name)
	}
}

func TestKeysOfActivities(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "a", "order/7", "Grüße", strings.Repeat("k", MaxKey)} {
		require.Nil(t, checkOpKey(good), "%q", good)
	}
	for _, bad := range []string{strings.Repeat("k", MaxKey+1), "\xff", "a\x00", "a\nb", "\x1b[0m", "a\u0085b"} {
		refused := checkOpKey(bad)
		require.NotNil(t, refused, "%q", bad)
		require.Equal(t, CodeBadBody, refused.Code)
	}
}

func TestDecodeOp(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", MaxName+1)
	for name, c := range map[string]struct {
		kind string
		body any
		want string // part of the message; empty means that the body is valid
	}{
		"sleep":              {OpSleep, Sleep{Duration: 1}, ""},
		"sleep, long label":  {OpSleep, Sleep{Name: long}, "is longer than 128 bytes"},
		"activity":           {OpActivity, Activity{Name: "a", Input: Nil}, ""},
		"activity, no name":  {OpActivity, Activity{Input: Nil}, "activity: the name is empty"},
		"activity, no input": {OpActivity, Activity{Name: "a"}, "the input is not one msgpack value"},
		"activity, backoff": {
			OpActivity,
			Activity{Name: "a", Input: Nil, Retry: Retry{Backoff: "wild"}},
			`"wild" is not a backoff strategy`,
		},
		"activity, base": {OpActivity, Activity{Name: "a", Input: Nil, Retry: Retry{Base: -1}}, "negative"},
		"activity, jitter": {
			OpActivity, Activity{Name: "a", Input: Nil, Retry: Retry{Jitter: 2}}, "not between 0 and 1",
		},
		"deferred":          {OpDeferred, Deferred{Name: "d"}, ""},
		"deferred, control": {OpDeferred, Deferred{Name: "a\nb"}, "has a control character"},
		"resolve":           {OpResolve, Resolve{Name: "d", Value: Nil}, ""},
		"reject":            {OpResolve, Resolve{Name: "d", Error: &Error{}}, ""},
		"resolve, no value": {OpResolve, Resolve{Name: "d"}, "the value is not one msgpack value"},
		"call":              {OpCall, Call{Workflow: "W", Input: Nil}, ""},
		"send, long name": {
			OpSend,
			Call{Workflow: strings.Repeat("n", 1025), Input: Nil},
			"is not a valid name of a workflow or execution",
		},
		"call, cancel":    {OpCall, Call{Workflow: "W", Input: Nil, OnCancel: OnCancelCancel}, ""},
		"call, terminate": {OpCall, Call{Workflow: "W", Input: Nil, OnCancel: OnCancelTerminate}, ""},
		"call, abandon":   {OpCall, Call{Workflow: "W", Input: Nil, OnCancel: OnCancelAbandon}, ""},
		"call, on cancel": {
			OpCall,
			Call{Workflow: "W", Input: Nil, OnCancel: "adopt"},
			`"adopt" does not say what becomes of a workflow`,
		},
		"interrupt":         {OpInterrupt, Interrupt{Execution: "a/B/c", Reason: "enough"}, ""},
		"interrupt, target": {OpInterrupt, Interrupt{Execution: "a\x00"}, "is not a valid name"},
		"interrupt, long": {
			OpInterrupt,
			Interrupt{Execution: "a/B/c", Reason: strings.Repeat("x", MaxReason+1)},
			"longer than 4096 bytes",
		},
		"interrupt, text":  {OpInterrupt, Interrupt{Execution: "a/B/c", Reason: "\xff"}, "not UTF-8"},
		"receive":          {OpReceive, Receive{Name: "paid"}, ""},
		"receive, no name": {OpReceive, Receive{}, "the name is empty"},
		"signal":           {OpSignal, Signal{Execution: "a/B/c", Name: "paid", Value: Nil}, ""},
		"lock":             {OpLock, Lock{Entities: []string{"Account/ada"}}, ""},
		"lock, none":       {OpLock, Lock{}, "0 entities"},
		"lock, too many":   {OpLock, Lock{Entities: make([]string, MaxLocked+1)}, "33 entities"},
		"lock, long name": {
			OpLock, Lock{Entities: []string{strings.Repeat("x", 1025)}}, "is not a valid name of an entity",
		},
		"unlock":           {OpUnlock, Unlock{}, ""},
		"update":           {OpUpdate, Update{}, ""},
		"answer":           {OpAnswer, Answer{ID: "1", Value: Nil}, ""},
		"answer, error":    {OpAnswer, Answer{ID: "1", Error: &Error{}}, ""},
		"answer, no id":    {OpAnswer, Answer{Value: Nil}, "the name is empty"},
		"answer, no value": {OpAnswer, Answer{ID: "1"}, "the value is not one msgpack value"},
		"publish":          {OpPublish, Publish{State: []Published{{Name: "a"}, {Name: "b", Value: Nil}}}, ""},
		"publish, order": {
			OpPublish, Publish{State: []Published{{Name: "b"}, {Name: "a"}}}, "not in the order of the names",
		},
		"publish, twice":    {OpPublish, Publish{Attributes: []Published{{Name: "a"}, {Name: "a"}}}, "there twice"},
		"publish, too many": {OpPublish, Publish{State: make([]Published, MaxPublished+1)}, "65 names"},
		"publish, no name":  {OpPublish, Publish{State: []Published{{}}}, "the name is empty"},
		"publish, note":     {OpPublish, Publish{Progress: &Progress{Note: "a\nb"}}, "the note of the progress"},
		"signal, no name":   {OpSignal, Signal{Execution: "a/B/c", Value: Nil}, "the name is empty"},
		"signal, no value":  {OpSignal, Signal{Execution: "a/B/c", Name: "paid"}, "is not one msgpack value"},
		"signal, long target": {
			OpSignal, Signal{Execution: strings.Repeat("x", 2000), Name: "paid", Value: Nil}, "is not a valid name",
		},
		"receive, control": {OpReceive, Receive{Name: "a\nb"}, "has a control character"},
		"signal, control": {
			OpSignal, Signal{Execution: "a/B/\x00", Name: "paid", Value: Nil}, "is not a valid name",
		},
		"entity call": {OpEntityCall, EntityMessage{Entity: "A/ada", Operation: "deposit", Input: Nil}, ""},
		"entity send": {
			OpEntitySend, EntityMessage{Entity: "bank/A/ada/1", Operation: "deposit", Input: Nil}, "",
		},
		"entity, no op": {OpEntityCall, EntityMessage{Entity: "A/ada", Input: Nil}, "the name is empty"},
		"entity, no input": {
			OpEntitySend, EntityMessage{Entity: "A/ada", Operation: "deposit"}, "the input is not one msgpack value",
		},
		"entity, long": {
			OpEntityCall,
			EntityMessage{Entity: strings.Repeat("x", 1025), Operation: "deposit", Input: Nil},
			"is not a valid name of an entity",
		},
		"patched, no id":      {OpPatched, Patched{}, "the name is empty"},
		"patched, not UTF-8":  {OpPatched, Patched{ID: "\xff"}, "the name"},
		"poll, not UTF-8":     {OpPoll, Poll{Execution: "\xff"}, "is not a valid name of a workflow or execution"},
		"interrupted":         {OpInterrupted, Interrupted{}, ""},
		"a body of no fields": {OpSleep, []int{1}, "decode"},
		"an unknown kind":     {"entity", Sleep{}, `"entity" is not a kind of op`},
	} {
		body, refused := DecodeOp(c.kind, MustMarshal(c.body))
		if c.want == "" {
			require.Nil(t, refused, name)
			require.NotNil(t, body, name)
			continue
		}
		require.NotNil(t, refused, name)
		require.Equal(t, CodeBadBody, refused.Code, name)
		require.Contains(t, refused.Message, c.want, name)
	}
	_, refused := DecodeOp(OpActivity, MustMarshal(Activity{Name: "a", Input: MustMarshal(make([]byte, MaxPayload))}))
	require.Equal(t, CodePayloadTooLarge, refused.Code)
}
