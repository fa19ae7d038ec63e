package op_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// TestDue reads testdata/due. Each case is one op:
//
//	sleep issued=100 for=5
//	activity [next=300] | deferred name=d | interrupted | call | send | resolve | poll | entity_call | entity_send | lock
//
// with the optional arguments outcome and journaled (it has its outcome), awaiting (its callee sends the result), now=N
// (the time at which CompleteDue looks at it), settled=NAME (a deferred that is settled) and interrupt=REASON. Rewrite
// the expectations with -rewrite.
func TestDue(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/due", func(t *testing.T, d *datadriven.TestData) string {
		o := opOf(t, d)
		var out strings.Builder
		fmt.Fprintf(
			&out, "needs host: %v\ndue: %s\nwake: %s\n", o.NeedsHost(), timeName(o.DueAt()), timeName(o.WakeAt()),
		)
		if !d.HasArg("now") {
			return out.String()
		}
		var now int64
		d.ScanArgs(t, "now", &now)
		deferreds := map[string]journal.Settlement{}
		if d.HasArg("settled") {
			var name string
			d.ScanArgs(t, "settled", &name)
			deferreds[name] = journal.Settlement{Name: name, Bytes: 100}
		}
		var interrupt *journal.Interrupt
		if d.HasArg("interrupt") {
			interrupt = &journal.Interrupt{}
			d.ScanArgs(t, "interrupt", &interrupt.Reason)
		}
		late, woke := o.CompleteDue(now, deferreds, interrupt)
		fmt.Fprintf(&out, "at %d: %s", now, outcomeName(t, o))
		if woke {
			fmt.Fprintf(&out, ", late by %d", late)
		}
		fmt.Fprintf(&out, ", wake: %s\n", timeName(o.WakeAt()))
		return out.String()
	})
}

func opOf(t *testing.T, d *datadriven.TestData) *op.Op {
	number := func(name string) (n int64) {
		if d.HasArg(name) {
			d.ScanArgs(t, name, &n)
		}
		return n
	}
	o := &op.Op{Op: journal.Op{Kind: d.Cmd}, IssuedAt: number("issued"), NextAt: number("next")}
	switch d.Cmd {
	case abi.OpSleep:
		o.Body = &abi.Sleep{Duration: number("for")}
		if d.HasArg("forever") {
			o.Body = &abi.Sleep{Duration: math.MaxInt64}
		}
	case abi.OpActivity:
		o.Body = &abi.Activity{}
	case abi.OpDeferred:
		b := &abi.Deferred{}
		d.ScanArgs(t, "name", &b.Name)
		o.Body = b
	case abi.OpInterrupted:
		o.Body = &abi.Interrupted{}
	case abi.OpCall, abi.OpSend:
		o.Body = &abi.Call{}
	case abi.OpResolve:
		o.Body = &abi.Resolve{}
	case abi.OpPoll:
		o.Body = &abi.Poll{}
	case abi.OpEntityCall, abi.OpEntitySend:
		o.Body = &abi.EntityMessage{}
	case abi.OpLock:
		o.Body = &abi.Lock{}
	default:
		d.Fatalf(t, "unknown op %q", d.Cmd)
	}
	if d.HasArg("outcome") {
		o.Outcome = &abi.Outcome{Value: abi.MustMarshal("known")}
	}
	o.Journaled, o.Awaiting = d.HasArg("journaled"), d.HasArg("awaiting")
	return o
}

func timeName(at int64) string {
	switch at {
	case journal.Now:
		return "now"
	case journal.Never:
		return "never"
	case journal.Never - 1:
		return "the end of time"
	default:
		return fmt.Sprint(at)
	}
}

func outcomeName(t *testing.T, o *op.Op) string {
	if o.Outcome == nil {
		return "no outcome"
	}
	if o.Unread > 0 {
		return fmt.Sprintf("outcome of %d bytes in the store", o.Unread)
	}
	var v any
	require.NoError(t, abi.Unmarshal(o.Outcome.Value, &v))
	return fmt.Sprintf("outcome %v", v)
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
		require.Equal(t, c.want, op.AddTime(c.at, c.d), "%d + %d", c.at, c.d)
	}
	rapid.Check(t, func(t *rapid.T) {
		at, d := rapid.Int64Range(0, journal.Never-1).Draw(t, "at"), rapid.Int64().Draw(t, "d")
		sum := op.AddTime(at, time.Duration(d))
		require.Greater(t, sum, journal.Now)
		require.Less(t, sum, journal.Never)
		require.GreaterOrEqual(t, sum, at, "never before it was asked for")
	})
}
