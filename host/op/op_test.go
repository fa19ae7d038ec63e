package host

import (
	"crypto/sha256"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	whole := func() float64 { return 1 }
	for _, c := range []struct {
		name   string
		retry  abi.Retry
		failed uint32
		random func() float64
		want   time.Duration
	}{
		{"default", abi.Retry{}, 1, whole, time.Second},
		{"default doubles", abi.Retry{}, 2, whole, 2 * time.Second},
		{"default is capped", abi.Retry{}, 7, whole, time.Minute},
		{"first", abi.Retry{Base: 100 * ms}, 1, whole, 100 * time.Millisecond},
		{"fifth", abi.Retry{Base: 100 * ms, Backoff: abi.BackoffExponential}, 5, whole, 1600 * time.Millisecond},
		{"after very many", abi.Retry{Base: 1}, math.MaxUint32, whole, time.Minute},
		{"base above the cap", abi.Retry{Base: math.MaxInt64}, 3, whole, time.Minute},
		{"constant", abi.Retry{Base: 250 * ms, Backoff: abi.BackoffConstant}, 9, whole, 250 * time.Millisecond},
		{"constant above the cap", abi.Retry{Base: int64(time.Hour), Backoff: abi.BackoffConstant}, 1, whole, time.Minute},
		{"constant default", abi.Retry{Backoff: abi.BackoffConstant}, 4, whole, time.Second},
		{"all jitter", abi.Retry{Base: 100 * ms, Jitter: 1}, 1, whole, 0},
		{"some jitter", abi.Retry{Base: 100 * ms, Jitter: 0.5}, 1, whole, 50 * time.Millisecond},
		{"jitter that does nothing", abi.Retry{Base: 100 * ms, Jitter: 1}, 1, func() float64 { return 0 }, 100 * time.Millisecond},
	} {
		require.Equal(t, c.want, backoff(c.retry, c.failed, c.random), c.name)
	}
}

func TestBackoffStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := abi.Retry{
			Base:    rapid.Int64Range(0, math.MaxInt64).Draw(t, "base"),
			Jitter:  rapid.Float64Range(0, 1).Draw(t, "jitter"),
			Backoff: rapid.SampledFrom([]string{"", abi.BackoffConstant, abi.BackoffExponential}).Draw(t, "backoff"),
		}
		_, refused := abi.DecodeOp(abi.OpActivity, abi.MustMarshal(&abi.Activity{Name: "a", Input: abi.Nil, Retry: r}))
		require.Nil(t, refused)
		random := func() float64 { return rapid.Float64Range(0, 1).Draw(t, "random") }
		d := backoff(r, rapid.Uint32Min(1).Draw(t, "failed"), random)
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, abi.MaxBackoff)
	})
}

func TestAddTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   int64
		d    time.Duration
		want int64
	}{
		{100, 5, 105},
		{100, 0, 100},
		{100, -5, 100},
		{100, math.MinInt64, 100},
		{0, 0, 1},
		{-7, -1, 1},
		{0, 1, 1},
		{100, math.MaxInt64, journal.Never - 1},
		{journal.Never - 1, 1, journal.Never - 1},
		{journal.Never - 2, 1, journal.Never - 1},
		{journal.Never - 3, 1, journal.Never - 2},
	} {
		require.Equal(t, c.want, addTime(c.at, c.d), "%d + %d", c.at, c.d)
	}
	rapid.Check(t, func(t *rapid.T) {
		at, d := rapid.Int64Range(0, journal.Never-1).Draw(t, "at"), rapid.Int64().Draw(t, "d")
		sum := addTime(at, time.Duration(d))
		require.Greater(t, sum, journal.Now)
		require.Less(t, sum, journal.Never)
		require.GreaterOrEqual(t, sum, at, "never before it was asked for")
	})
}

func TestDecodeOpIdentity(t *testing.T) {
	t.Parallel()
	activity := func(change func(*abi.Activity)) journal.Op {
		a := abi.Activity{Name: "pay", Input: abi.MustMarshal(map[string]any{"a": 1, "b": 2})}
		change(&a)
		o, err := newOp(abi.OpActivity, abi.MustMarshal(a), 7, 1)
		require.Nil(t, err)
		return o.Op
	}
	plain := activity(func(*abi.Activity) {})
	require.Equal(t, journal.Op{Kind: abi.OpActivity, Name: "pay", Number: 7, Hash: plain.Hash}, plain)
	require.Len(t, plain.Hash, 16)
	same := map[string]func(*abi.Activity){
		"another timeout":       func(a *abi.Activity) { a.Timeout = 5 },
		"another retry policy":  func(a *abi.Activity) { a.Retry.Retries = 5 },
		"fields in other order": func(a *abi.Activity) { a.Input = []byte("\x82\xa1b\x02\xa1a\x01") },
		"a longer integer":      func(a *abi.Activity) { a.Input = []byte("\x82\xa1a\xd2\x00\x00\x00\x01\xa1b\x02") },
	}
	for name, change := range same {
		require.Equal(t, plain, activity(change), name)
	}
	require.NotEqual(t, plain.Hash, activity(func(a *abi.Activity) { a.Input = abi.Nil }).Hash)
	keyed := activity(func(a *abi.Activity) { a.Key = "k" })
	require.Equal(t, journal.Op{Kind: abi.OpActivity, Name: "pay", Number: 7, Key: "k"}, keyed, "a key stands for the arguments")
}

// TestDecodeOpIdentityOfPayloads shows that the identity of an op does not depend
// on how the encoder of a language orders the fields of what the op carries.
func TestDecodeOpIdentityOfPayloads(t *testing.T) {
	t.Parallel()
	sorted := []byte{0x82, 0xa1, 'a', 1, 0xa1, 'b', 2}
	asDeclared := []byte{0x82, 0xa1, 'b', 2, 0xa1, 'a', 0xcc, 1}
	for kind, body := range map[string]func(value []byte) any{
		abi.OpActivity: func(v []byte) any { return abi.Activity{Name: "n", Input: v} },
		abi.OpCall:     func(v []byte) any { return abi.Call{Workflow: "W", Input: v} },
		abi.OpSend:     func(v []byte) any { return abi.Call{Workflow: "W", Input: v} },
		abi.OpResolve:  func(v []byte) any { return abi.Resolve{Name: "n", Value: v} },
		"resolve with an error": func(v []byte) any {
			return abi.Resolve{Name: "n", Error: &abi.Error{Message: "no", Details: v}}
		},
	} {
		hash := func(value []byte) []byte {
			kind, _, _ := strings.Cut(kind, " ")
			o, err := newOp(kind, abi.MustMarshal(body(value)), 7, 0)
			require.Nil(t, err)
			return o.Hash
		}
		require.Equal(t, hash(sorted), hash(asDeclared), kind)
		require.NotEqual(t, hash(sorted), hash([]byte{0x82, 0xa1, 'a', 1, 0xa1, 'b', 3}), kind)
		if kind != abi.OpActivity {
			// A body that is canonical throughout is hashed as it is.
			sum := sha256.Sum256(abi.MustMarshal(body(sorted)))
			require.Equal(t, sum[:16], hash(sorted), kind)
		}
	}
}

func TestDecodeOpRefuses(t *testing.T) {
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
		"too large an input":    {abi.OpActivity, abi.Activity{Name: "a", Input: make([]byte, abi.MaxPayload+1)}, abi.CodePayloadTooLarge},
		"a long key":            {abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Key: long}, abi.CodeBadBody},
		"a key of no UTF-8":     {abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Key: "\xff"}, abi.CodeBadBody},
		"an unknown backoff":    {abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Backoff: "never"}}, abi.CodeBadBody},
		"a negative base":       {abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Base: -1}}, abi.CodeBadBody},
		"too much jitter":       {abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Jitter: 1.01}}, abi.CodeBadBody},
		"no jitter at all":      {abi.OpActivity, abi.Activity{Name: "a", Input: abi.Nil, Retry: abi.Retry{Jitter: math.NaN()}}, abi.CodeBadBody},
		"a deferred of no name": {abi.OpDeferred, abi.Deferred{}, abi.CodeBadBody},
		"a resolve of no name":  {abi.OpResolve, abi.Resolve{Value: abi.Nil}, abi.CodeBadBody},
		"a resolve of no value": {abi.OpResolve, abi.Resolve{Name: "d"}, abi.CodeBadBody},
		"a resolve far away":    {abi.OpResolve, abi.Resolve{Name: "d", Value: abi.Nil, Execution: long}, abi.CodeBadBody},
		"a call without input":  {abi.OpCall, abi.Call{Workflow: "W"}, abi.CodeBadBody},
		"a call far away":       {abi.OpSend, abi.Call{Workflow: long, Input: abi.Nil}, abi.CodeBadBody},
		"a poll far away":       {abi.OpPoll, abi.Poll{Execution: long}, abi.CodeBadBody},
		"a poll of controls":    {abi.OpPoll, abi.Poll{Execution: "a\x00b"}, abi.CodeBadBody},
		"a list":                {abi.OpInterrupted, []int{1}, abi.CodeBadBody},
	} {
		_, err := newOp(c.kind, abi.MustMarshal(c.body), 1, 1)
		require.NotNil(t, err, name)
		require.Equal(t, c.code, err.Code, name)
	}
}

// TestWakeAt shows what has an execution loaded when, if it is not in memory.
func TestWakeAt(t *testing.T) {
	t.Parallel()
	outcome := &abi.Outcome{Value: abi.Nil}
	for name, c := range map[string]struct {
		op        op
		wake, due int64
	}{
		"sleep":           {op{Op: journal.Op{Kind: abi.OpSleep}, body: &abi.Sleep{Duration: 5}, issuedAt: 100}, 105, 105},
		"sleep for ever":  {op{Op: journal.Op{Kind: abi.OpSleep}, body: &abi.Sleep{Duration: math.MaxInt64}, issuedAt: 100}, journal.Never - 1, journal.Never - 1},
		"activity":        {op{Op: journal.Op{Kind: abi.OpActivity}, body: &abi.Activity{}}, journal.Now, journal.Never},
		"activity later":  {op{Op: journal.Op{Kind: abi.OpActivity}, body: &abi.Activity{}, nextAt: 300}, 300, 300},
		"deferred":        {op{Op: journal.Op{Kind: abi.OpDeferred}, body: &abi.Deferred{}}, journal.Never, journal.Never},
		"interrupted":     {op{Op: journal.Op{Kind: abi.OpInterrupted}, body: &abi.Interrupted{}}, journal.Never, journal.Never},
		"call":            {op{Op: journal.Op{Kind: abi.OpCall}, body: &abi.Call{}}, journal.Now, journal.Never},
		"with an outcome": {op{Op: journal.Op{Kind: abi.OpDeferred}, body: &abi.Deferred{}, outcome: outcome}, journal.Now, journal.Never},
	} {
		require.Equal(t, c.wake, c.op.wakeAt(), name)
		require.Equal(t, c.due, c.op.dueAt(), name)
	}
}

func TestClampText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		most := rapid.IntRange(8, 40).Draw(t, "most")
		got := clampText(text, most)
		require.True(t, utf8.ValidString(got), "%q", got)
		if utf8.ValidString(text) {
			require.LessOrEqual(t, len(got), most)
			if len(text) <= most {
				require.Equal(t, text, got)
			}
		}
	})
}
