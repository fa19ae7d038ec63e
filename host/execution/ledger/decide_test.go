package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// TestDecide decides turns of a run that is in the store with a wake time of 100.
func TestDecide(t *testing.T) {
	t.Parallel()
	lock, unlock := opOf(3, abi.OpLock, &abi.Lock{}), opOf(4, abi.OpUnlock, nil)
	for name, c := range map[string]struct {
		pending []*op.Op // before the turn
		section uint64   // the op lock of the section that the row names; 0 if there is none
		deliver uint64   // the op whose outcome causes the turn; 0 if nothing does
		turn    func(l *Ledger, t *Turn)
		want    string
	}{
		"nothing changes": {
			pending: []*op.Op{sleepOf(1, 100)},
			want:    "writes nothing",
		},
		"a later wake time is no reason to write": {
			pending: []*op.Op{sleepOf(1, 500)},
			want:    "writes nothing",
		},
		"an earlier wake time": {
			turn: func(_ *Ledger, t *Turn) { t.Guest.Issued = []*op.Op{sleepOf(1, 50)} },
			want: "row running, wake 50",
		},
		"the host has work": {
			turn: func(_ *Ledger, t *Turn) { t.Guest.Issued = []*op.Op{activityOf(1)} },
			want: "row running, wake now",
		},
		"a delivery leaves the row alone": {
			pending: []*op.Op{activityOf(1), sleepOf(2, 100)}, deliver: 1,
			want: "entry 1, waiting at 1",
		},
		"a delivery changes the wake time": {
			pending: []*op.Op{activityOf(1)}, deliver: 1,
			want: "entry 1; row running, wake never",
		},
		"a durable delivery changes nothing": {
			pending: []*op.Op{activityOf(1), sleepOf(2, 100)}, deliver: 1,
			turn: func(_ *Ledger, t *Turn) { t.Batch.Durable = true },
			want: "writes nothing",
		},
		"a failed attempt comes along": {
			pending: []*op.Op{activityOf(1), activityOf(2), sleepOf(3, 70)}, deliver: 1,
			turn: func(l *Ledger, _ *Turn) {
				failure := abi.Errorf(abi.CodeActivityFailed, "no luck")
				failure.Retryable = true
				l.AttemptFailed(stepOf(2), failure, 10, func() float64 { return 0 })
			},
			want: "entry 2; entry 1; row running, wake 70",
		},
		"a request to stop is acknowledged": {
			pending: []*op.Op{sleepOf(1, 100)},
			turn: func(_ *Ledger, t *Turn) {
				t.Row.Interrupt, t.Asked = &journal.Interrupt{Reason: "enough"}, []uint64{8}
			},
			want: "row running, wake 100, interrupted; take [8]",
		},
		"a result that no op waits for is dropped": {
			pending: []*op.Op{sleepOf(1, 100)},
			turn: func(l *Ledger, _ *Turn) {
				l.AddResult(ResultOf(journal.Envelope{Kind: journal.ResultMessage, Position: 9}))
			},
			want: "row running, wake 100; take [9]",
		},
		"callees are given up": {
			pending: []*op.Op{sleepOf(1, 100), activityOf(2)},
			turn: func(_ *Ledger, t *Turn) {
				t.Guest.Cancelled, t.Stops = []uint32{2}, make([]journal.Sent, 1)
			},
			want: "row running, wake 100; send 1; gave up 2",
		},
		"an effect of the run itself": {
			turn: func(_ *Ledger, t *Turn) {
				t.Guest.Issued = []*op.Op{opOf(1, abi.OpPublish, &abi.Publish{})}
				t.Effects = Effects{
					Publish: &journal.Published{}, Outcomes: map[journal.StepID]abi.Outcome{stepOf(1): {}},
				}
			},
			want: "row running, wake now; publish",
		},
		"a section begins": {
			turn: func(_ *Ledger, t *Turn) { t.Guest.Issued = []*op.Op{lock} },
			want: "row running, wake now, section 3",
		},
		"a section goes on": {
			pending: []*op.Op{sleepOf(1, 100)}, section: 3,
			turn: func(l *Ledger, _ *Turn) { l.section = op.Section{Step: stepOf(3), Number: 3} },
			want: "writes nothing",
		},
		"a section ends": {
			pending: []*op.Op{sleepOf(1, 100)}, section: 3,
			turn: func(l *Ledger, t *Turn) {
				l.section = op.Section{Step: stepOf(3), Number: 3}
				t.Guest.Issued, t.Guest.Cancelled = []*op.Op{unlock}, []uint32{4}
			},
			want: "row running, wake 100; gave up 4",
		},
		"a section that is not in the row stays out of it": {
			pending: []*op.Op{sleepOf(1, 100)},
			turn:    func(l *Ledger, _ *Turn) { l.section = op.Section{Step: stepOf(3), Number: 3} },
			want:    "writes nothing",
		},
		"the workflow ends": {
			pending: []*op.Op{activityOf(1)}, deliver: 1, section: 3,
			turn: func(_ *Ledger, t *Turn) { t.Guest.Outcome = &abi.Outcome{Value: abi.Nil} },
			want: "entry 1; row completed, wake never",
		},
		"the workflow continues": {
			pending: []*op.Op{activityOf(1)}, deliver: 1,
			turn: func(_ *Ledger, t *Turn) {
				t.Guest.Outcome = &abi.Outcome{Continue: &abi.Continue{}}
				t.Next = &journal.Continuation{}
			},
			want: "continues at 10",
		},
		"the workflow forgot a step": {
			turn: func(l *Ledger, t *Turn) {
				l.hold(map[journal.StepID]journal.Entry{stepOf(7): {Seq: 1, Op: journal.Op{Kind: abi.OpSleep}}}, nil)
				t.Guest.Outcome = &abi.Outcome{Value: abi.Nil}
			},
			want: "forgot",
		},
		"a failed workflow forgets nothing": {
			turn: func(l *Ledger, t *Turn) {
				l.hold(map[journal.StepID]journal.Entry{stepOf(7): {Seq: 1, Op: journal.Op{Kind: abi.OpSleep}}}, nil)
				t.Guest.Outcome = &abi.Outcome{Error: abi.Errorf(abi.CodeActivityFailed, "no")}
			},
			want: "row failed, wake never",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New()
			for _, o := range c.pending {
				l.ops.Add(o)
			}
			turn := Turn{Row: &journal.Execution{WakeAt: 100, Section: stepOf(c.section)}, Now: 10}
			if c.deliver != 0 {
				l.Complete(stepOf(c.deliver), abi.Outcome{Value: abi.Nil}, 1, 10)
				turn.Batch, _ = l.Next(10)
			}
			l.TakeUnbegun()
			if c.turn != nil {
				c.turn(l, &turn)
			}
			require.Equal(t, c.want, renderDecision(l.Decide(turn)))
		})
	}
}

func opOf(number uint32, kind string, body any) *op.Op {
	return &op.Op{Op: journal.Op{Number: number, Kind: kind}, StepID: stepOf(uint64(number)), Body: body}
}

func sleepOf(number uint32, until int64) *op.Op {
	return opOf(number, abi.OpSleep, &abi.Sleep{Duration: until})
}

func activityOf(number uint32) *op.Op {
	return opOf(number, abi.OpActivity, &abi.Activity{
		Retry: abi.Retry{Retries: 1, Base: 100, Backoff: abi.BackoffConstant},
	})
}

func renderDecision(d Decision) string {
	if d.Forgot != nil {
		return "forgot"
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for _, en := range d.Write.Entries {
		if en.Waiting != nil {
			add("entry %d, waiting at %d", en.Seq, en.Waiting.Seq)
		} else {
			add("entry %d", en.Seq)
		}
	}
	if u := d.Write.Update; u != nil {
		row := fmt.Sprintf("row %s, wake %s", u.State, plainTime(u.WakeAt))
		if u.Section != (journal.StepID{}) {
			row += fmt.Sprintf(", section %d", u.Section[7])
		}
		if u.Interrupt != nil {
			row += ", interrupted"
		}
		add("%s", row)
	}
	if len(d.Write.Take) > 0 {
		add("take %d", d.Write.Take)
	}
	if n := len(d.Write.Send); n > 0 {
		add("send %d", n)
	}
	if d.Write.Publish != nil {
		add("publish")
	}
	if next := d.Write.Continue; next != nil {
		add("continues at %d", next.Pinned.Time)
	}
	for _, step := range d.GaveUp {
		add("gave up %d", step[7])
	}
	if !d.Writes {
		return "writes nothing"
	}
	return strings.Join(parts, "; ")
}

// TestDecideTellsLateness has a sleep end during a turn.
func TestDecideTellsLateness(t *testing.T) {
	t.Parallel()
	l := New()
	l.ops.Add(sleepOf(1, 7))
	d := l.Decide(Turn{Row: &journal.Execution{WakeAt: 7}, Now: 10})
	require.Equal(t, []time.Duration{3}, d.Late)
	require.Equal(t, journal.Now, d.Update.WakeAt, "its outcome is ready")
}

// TestDecideFateOfSignals has a signal delivered, and taken when the workflow asks for the next
// one.
func TestDecideFateOfSignals(t *testing.T) {
	t.Parallel()
	l := New()
	receive := func(number uint32) *op.Op {
		o, err := op.New(abi.OpReceive, abi.MustMarshal(&abi.Receive{Name: "s"}), number, 0)
		require.Nil(t, err)
		o.StepID = stepOf(uint64(number))
		return o
	}
	row := &journal.Execution{WakeAt: journal.Never}
	first := receive(1)
	l.ops.Add(first)
	l.Arrived(journal.Envelope{Kind: journal.SignalMessage, Position: 7, Name: "s"})
	l.CompleteDue(row, nil, 1)
	b, ok := l.Next(1)
	require.True(t, ok)
	d := l.Decide(Turn{
		Row: row, Batch: b, Guest: guest.Turn{Issued: []*op.Op{opOf(2, abi.OpDeferred, &abi.Deferred{})}}, Now: 1,
	})
	require.Equal(t, []uint64{7}, d.Write.Hold)
	require.Empty(t, d.Write.Take)
	l.Committed(b, d.Fate)
	require.EqualValues(t, 1, l.Position().Seq)
	d = l.Decide(Turn{Row: row, Guest: guest.Turn{Issued: []*op.Op{receive(3)}}, Now: 2})
	require.Equal(t, []uint64{7}, d.Write.Take, "it was looked at")
	require.NotEqual(t, message.Fate{}, d.Fate)
}

func TestFinalUpdate(t *testing.T) {
	t.Parallel()
	interrupted := abi.Errorf(abi.CodeInterrupted, "interrupted")
	for name, c := range map[string]struct {
		outcome     abi.Outcome
		interrupted bool
		state       journal.State
		code        abi.Code
	}{
		"a result":                    {abi.Outcome{Value: abi.Nil}, false, journal.Completed, ""},
		"a result after an interrupt": {abi.Outcome{Value: abi.Nil}, true, journal.Completed, ""},
		"an error without a code": {
			abi.Outcome{Error: &abi.Error{Message: "no"}}, false, journal.Failed, abi.CodeWorkflowFailed,
		},
		"an error of an activity": {
			abi.Outcome{Error: abi.Errorf(abi.CodeActivityFailed, "no")}, false, journal.Failed, abi.CodeActivityFailed,
		},
		"interrupted": {
			abi.Outcome{Error: interrupted}, true, journal.Interrupted, abi.CodeInterrupted,
		},
		"interrupted, without a request": {abi.Outcome{Error: interrupted}, false, journal.Failed, abi.CodeInterrupted},
	} {
		u := finalUpdate(c.outcome, c.interrupted, 7)
		require.Equal(t, c.state, u.State, name)
		require.Equal(t, journal.Never, u.WakeAt, name)
		require.EqualValues(t, 7, u.FinishedAt, name)
		if c.code != "" {
			require.Equal(t, c.code, u.Error.Code, name)
		}
	}
}
