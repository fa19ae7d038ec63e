package ledger

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// TestLedger reads testdata/ledger. The cases of the file are one ledger; `new` begins another. Times are plain
// numbers.
//
//	new
//	issue OP activity|sleep|deferred … [retries=N] [for=N]      the guest issues, or cancels: cancel=OP
//	outcome OP [size=N] [at=N]      the outcome of an op is known; it came to be at a time; error=N: it
//	                                is an error with a message and details of N bytes each
//	fail OP [final]          an attempt failed
//	reserve OP, commit SEQ, void SEQ
//	is-next SEQ              whether a transaction may be committed with the turn it causes
//	due now=N                completes due ops
//	next now=N               the next batch, which is then delivered
//	attempts now=N           takes the failed attempts
//	state
func TestLedger(t *testing.T) {
	t.Parallel()
	l, entries := New(), map[uint64]journal.Entry{}
	datadriven.RunTest(t, "testdata/ledger", func(t *testing.T, d *datadriven.TestData) string {
		number := func(name string) (n int64) {
			if d.HasArg(name) {
				d.ScanArgs(t, name, &n)
			}
			return n
		}
		first := func() uint64 {
			n, err := strconv.ParseUint(d.CmdArgs[0].Key, 10, 64)
			require.NoError(t, err)
			return n
		}
		switch d.Cmd {
		case "new":
			l, entries = New(), map[uint64]journal.Entry{}
			return "ok\n"
		case "issue":
			var turn guest.Turn
			if d.HasArg("cancel") {
				turn.Cancelled = []uint32{uint32(number("cancel"))}
			} else {
				turn.Issued = []*op.Op{issuedOp(t, d, uint32(first()), number)}
			}
			l.applyTurn(nil, turn)
		case "outcome":
			outcome := abi.Outcome{Value: make([]byte, number("size"))}
			if n := number("error"); n > 0 {
				outcome = abi.Outcome{Error: &abi.Error{Message: strings.Repeat("e", int(n)), Details: make([]byte, n)}}
			}
			l.Complete(stepOf(first()), outcome, 1, number("at"))
		case "fail":
			failure := abi.Errorf(abi.CodeActivityFailed, "no luck")
			failure.Retryable = !d.HasArg("final")
			l.AttemptFailed(stepOf(first()), failure, number("now"), func() float64 { return 0 })
		case "reserve":
			en, wanted := l.Reserve(stepOf(first()), nil, 1, number("now"))
			if !wanted {
				return "not waited for\n"
			}
			entries[en.Seq] = en
			return renderEntry(en)
		case "commit":
			l.Commit(entries[first()])
		case "void":
			l.Void(first())
		case "is-next":
			en := entries[first()]
			return fmt.Sprintln(l.IsNext(en, stepOf(uint64(en.Op.Number))))
		case "due":
			l.ops.CompleteDue(number("now"), nil, nil, l.inbox, func(time.Duration) {})
		case "attempts":
			var out strings.Builder
			for _, en := range l.TakeAttempts(number("now")) {
				out.WriteString(renderEntry(en))
			}
			if out.Len() == 0 {
				return "none\n"
			}
			return out.String()
		case "next":
			return renderNext(l, number("now"))
		case "state":
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
		}
		return renderLedger(l)
	})
}

// stepOf names the step of an op.
func stepOf(n uint64) (step journal.StepID) {
	binary.BigEndian.PutUint64(step[:], n)
	return step
}

func issuedOp(t *testing.T, d *datadriven.TestData, n uint32, number func(string) int64) *op.Op {
	o := &op.Op{Op: journal.Op{Number: n, Kind: d.CmdArgs[1].Key}, StepID: stepOf(uint64(n))}
	switch o.Kind {
	case abi.OpActivity:
		o.Body = &abi.Activity{
			Retry: abi.Retry{Retries: uint32(number("retries")), Base: 100, Backoff: abi.BackoffConstant},
		}
	case abi.OpSleep:
		o.Body = &abi.Sleep{Duration: number("for")}
	case abi.OpDeferred:
		o.Body = &abi.Deferred{}
	default:
		d.Fatalf(t, "unknown op %q", o.Kind)
	}
	return o
}

func renderEntry(en journal.Entry) string {
	if en.Kind == journal.Attempt {
		return fmt.Sprintf(
			"entry %d at %d: attempt %d of op %d failed, next at %d\n", en.Seq, en.At, en.Attempts, en.Op.Number,
			en.NextAt,
		)
	}
	return fmt.Sprintf("entry %d at %d, turn %d: op %d\n", en.Seq, en.At, en.Turn, en.Op.Number)
}

func renderNext(l *Ledger, now int64) string {
	b, ok := l.Next(now)
	if !ok {
		return fmt.Sprintf("nothing; delivered up to %d\n", l.delivered)
	}
	var out strings.Builder
	for _, en := range b.Entries {
		out.WriteString(renderEntry(en))
	}
	if b.Durable {
		out.WriteString("it is durable already\n")
	}
	l.applyTurn(b.Entries, guest.Turn{})
	l.delivered = b.Entries[len(b.Entries)-1].Seq
	return out.String()
}

func renderLedger(l *Ledger) string {
	var out strings.Builder
	out.WriteString("pending:")
	for _, o := range slices.SortedFunc(l.ops.All(), func(a, b *op.Op) int { return cmp.Compare(a.Number, b.Number) }) {
		fmt.Fprintf(&out, " %d", o.Number)
		switch {
		case o.Journaled:
			out.WriteString(" (journaled)")
		case o.Outcome != nil && o.Outcome.Error != nil:
			out.WriteString(" (failed)")
		case o.Outcome != nil:
			out.WriteString(" (ready)")
		case o.NextAt != 0:
			fmt.Fprintf(&out, " (again at %d)", o.NextAt)
		}
	}
	fmt.Fprintf(
		&out, "; reserved: %v; due %s, wake %s", slices.Sorted(maps.Keys(l.reserved)), plainTime(l.ops.DueAt()),
		plainTime(l.ops.WakeAt()),
	)
	if l.Deadlocked() {
		out.WriteString("; deadlocked")
	}
	return out.String() + "\n"
}

func plainTime(at int64) string {
	switch at {
	case journal.Now:
		return "now"
	case journal.Never:
		return "never"
	default:
		return fmt.Sprint(at)
	}
}

// TestLedgerNumbers takes a ledger through random lives and checks the sequence numbers that it
// hands out, against a journal that the test keeps itself: none is given twice or behind an earlier
// one, deliveries come in their order, and none overtakes a number that is undecided.
func TestLedgerNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &numbers{
			ledger:    New(),
			reserved:  map[uint64]journal.Entry{},
			committed: map[uint64]bool{},
			delivered: map[uint32]bool{},
		}
		rt.Repeat(map[string]func(*rapid.T){
			"attempts": m.attempts,
			"decide":   m.decide,
			"fail":     m.fail,
			"issue":    m.issue,
			"next":     m.next,
			"outcome":  m.outcome,
			"reserve":  m.reserve,
		})
	})
}

// numbers is a ledger with the test's model of its journal.
type numbers struct {
	ledger    *Ledger
	now       int64
	ops       uint32
	given     uint64                   // the highest number that was given
	last      uint64                   // the last number that was delivered
	clock     int64                    // the time of the last delivery
	reserved  map[uint64]journal.Entry // undecided
	committed map[uint64]bool          // durable and not delivered
	delivered map[uint32]bool
}

// give takes note of a number that the ledger has handed out.
func (m *numbers) give(rt *rapid.T, en journal.Entry) {
	require.Greater(rt, en.Seq, m.given, "a number was given twice, or behind others")
	m.given = en.Seq
}

func (m *numbers) issue(*rapid.T) {
	m.ops++
	m.ledger.applyTurn(nil, guest.Turn{Issued: []*op.Op{{
		Op: journal.Op{Number: m.ops, Kind: abi.OpActivity}, StepID: stepOf(uint64(m.ops)),
		Body: &abi.Activity{Retry: abi.Retry{Retries: 100, Base: 1, Backoff: abi.BackoffConstant}},
	}}})
}

// drawStep draws an op that has been issued, whatever became of it.
func (m *numbers) drawStep(rt *rapid.T) journal.StepID {
	if m.ops == 0 {
		rt.Skip("no op was issued")
	}
	m.now += rapid.Int64Range(-1, 3).Draw(rt, "time")
	return stepOf(uint64(rapid.Uint32Range(1, m.ops).Draw(rt, "op")))
}

func (m *numbers) outcome(rt *rapid.T) {
	m.ledger.Complete(m.drawStep(rt), abi.Outcome{}, 1, m.now)
}

func (m *numbers) fail(rt *rapid.T) {
	failure := abi.Errorf(abi.CodeActivityFailed, "no luck")
	failure.Retryable = true
	m.ledger.AttemptFailed(m.drawStep(rt), failure, m.now, func() float64 { return 0 })
}

func (m *numbers) attempts(rt *rapid.T) {
	for _, en := range m.ledger.TakeAttempts(m.now) {
		require.Equal(rt, journal.Attempt, en.Kind)
		m.give(rt, en)
	}
}

func (m *numbers) reserve(rt *rapid.T) {
	if en, wanted := m.ledger.Reserve(m.drawStep(rt), nil, 1, m.now); wanted {
		m.give(rt, en)
		m.reserved[en.Seq] = en
	}
}

// decide tells the ledger the outcome of a transaction.
func (m *numbers) decide(rt *rapid.T) {
	if len(m.reserved) == 0 {
		rt.Skip("no number is reserved")
	}
	seq := rapid.SampledFrom(slices.Sorted(maps.Keys(m.reserved))).Draw(rt, "seq")
	if rapid.Bool().Draw(rt, "committed") {
		m.ledger.Commit(m.reserved[seq])
		m.committed[seq] = true
	} else {
		m.ledger.Void(seq)
	}
	delete(m.reserved, seq)
}

func (m *numbers) next(rt *rapid.T) {
	b, ok := m.ledger.Next(m.now)
	if !ok {
		return
	}
	for _, en := range b.Entries {
		if b.Durable {
			require.True(rt, m.committed[en.Seq], "entry %d is not in the journal", en.Seq)
			delete(m.committed, en.Seq)
		} else {
			m.give(rt, en)
		}
		require.Greater(rt, en.Seq, m.last, "entry %d is delivered out of order", en.Seq)
		for undecided := range m.reserved {
			require.Greater(rt, undecided, en.Seq, "entry %d overtakes one that is undecided", en.Seq)
		}
		require.False(rt, m.delivered[en.Op.Number], "op %d is delivered twice", en.Op.Number)
		require.GreaterOrEqual(rt, en.At, m.clock, "time runs backwards")
		m.delivered[en.Op.Number], m.last, m.clock = true, en.Seq, en.At
	}
	m.ledger.applyTurn(b.Entries, guest.Turn{})
	m.ledger.delivered = m.last
}

// TestSignalOfAnOpThatIsGivenUp has the guest give up on an op that was given a signal and has not been handed it: the
// next op that asks gets it.
func TestSignalOfAnOpThatIsGivenUp(t *testing.T) {
	t.Parallel()
	l := New()
	receive := func(number uint32) *op.Op {
		o, err := op.New(abi.OpReceive, abi.MustMarshal(&abi.Receive{Name: "s"}), number, 0)
		require.Nil(t, err)
		return o
	}
	due := func() { l.ops.CompleteDue(0, nil, nil, l.inbox, func(time.Duration) {}) }
	first, next := receive(1), receive(2)
	next.StepID[0]++
	l.ops.Add(first)
	l.Arrived(journal.Envelope{Position: 7, Name: "s"})
	due()
	require.NotNil(t, first.Message)
	l.applyTurn(nil, guest.Turn{Cancelled: []uint32{1}, Issued: []*op.Op{next}})
	due()
	require.NotNil(t, next.Message)
	require.EqualValues(t, 7, next.Message.Position)
}
