package op_test

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// TestSet takes a set through random lives, beside a plain map of the same ops that is looked through whole.
func TestSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &setModel{
			set:       op.NewSet(),
			ops:       map[uint32]*op.Op{},
			twins:     map[uint32]*op.Op{},
			taken:     map[uint32]bool{},
			deferreds: map[string]journal.Settlement{},
			signals:   message.NewInbox(nil),
			sent:      map[string][]journal.Envelope{},
		}
		rt.Repeat(map[string]func(*rapid.T){
			"":          m.compare,
			"add":       m.add,
			"attempt":   m.attempt,
			"due":       m.due,
			"give back": m.giveBack,
			"interrupt": m.interruptAll,
			"journal":   m.journal,
			"remove":    m.remove,
			"settle":    m.settle,
			"signal":    m.signal,
			"take":      m.take,
			"take back": m.takeBack,
		})
	})
}

// setModel is a set, and twins of its ops that go through the same by themselves.
type setModel struct {
	set       *op.Set
	ops       map[uint32]*op.Op // those in the set
	twins     map[uint32]*op.Op
	taken     map[uint32]bool
	number    uint32
	now       int64
	deferreds map[string]journal.Settlement
	interrupt *journal.Interrupt
	signals   *message.Inbox
	sent      map[string][]journal.Envelope // the same
	position  uint64
}

func (m *setModel) add(rt *rapid.T) {
	m.number++
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name")
	bodies := map[string]any{
		abi.OpActivity:    &abi.Activity{Name: name},
		abi.OpCall:        &abi.Call{},
		abi.OpDeferred:    &abi.Deferred{Name: name},
		abi.OpInterrupted: &abi.Interrupted{},
		abi.OpPatched:     &abi.Patched{ID: name},
		abi.OpReceive:     &abi.Receive{Name: name},
		abi.OpSleep:       &abi.Sleep{Duration: rapid.Int64Range(0, 20).Draw(rt, "for")},
	}
	kind := rapid.SampledFrom(slices.Sorted(maps.Keys(bodies))).Draw(rt, "kind")
	o := &op.Op{Op: journal.Op{Number: m.number, Kind: kind, Name: name}, Body: bodies[kind], IssuedAt: m.now}
	binary.BigEndian.PutUint32(o.StepID[:], m.number)
	twin := *o
	m.set.Add(o)
	m.ops[m.number], m.twins[m.number] = o, &twin
}

// draw draws an op that is in the set.
func (m *setModel) draw(rt *rapid.T) uint32 {
	if len(m.ops) == 0 {
		rt.Skip("the set is empty")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.ops))).Draw(rt, "op")
}

// change does the same to an op and to its twin.
func (m *setModel) change(n uint32, f func(*op.Op)) {
	m.set.Change(m.ops[n].StepID, f)
	f(m.twins[n])
}

func (m *setModel) remove(rt *rapid.T) {
	n := m.draw(rt)
	require.Same(rt, m.ops[n], m.set.Remove(n))
	require.Nil(rt, m.set.Remove(n))
	delete(m.ops, n)
	delete(m.twins, n)
	delete(m.taken, n)
}

func (m *setModel) settle(rt *rapid.T) {
	if name := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(rt, "deferred"); name != "" {
		m.deferreds[name] = journal.Settlement{Name: name, At: m.now}
		m.set.Settled(name)
		return
	}
	outcome := abi.Outcome{Value: make([]byte, rapid.IntRange(0, 9).Draw(rt, "bytes"))}
	if rapid.Bool().Draw(rt, "failed") {
		outcome = abi.Outcome{Error: &abi.Error{Message: "why", Hint: "what to do"}}
	}
	m.change(m.draw(rt), func(o *op.Op) { o.Settle(outcome, 1, m.now) })
}

// signal has a signal arrive.
func (m *setModel) signal(rt *rapid.T) {
	m.position++
	e := journal.Envelope{
		Position: m.position, Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "signal"), At: m.now, Bytes: 1,
	}
	m.signals.Add(e)
	m.sent[e.Name] = append(m.sent[e.Name], e)
	m.set.Arrived(e.Name)
}

// takeBack takes signals of a name back from the ops that have them. They are dealt again, in their order.
func (m *setModel) takeBack(rt *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "signal")
	var want []journal.Envelope
	for _, n := range slices.Sorted(maps.Keys(m.twins)) {
		if o := m.twins[n]; o.Message != nil && o.Name == name {
			want = append(want, *o.Message)
			o.Outcome, o.Message, o.Unread, o.ReadyAt = nil, nil, 0, 0
		}
	}
	require.Equal(rt, want, m.set.TakeBack(name))
	for _, e := range want {
		m.signals.Add(e)
	}
	m.sent[name] = append(want, m.sent[name]...)
	slices.SortFunc(m.sent[name], func(a, b journal.Envelope) int { return cmp.Compare(a.Position, b.Position) })
	m.set.Arrived(name)
}

func (m *setModel) interruptAll(*rapid.T) {
	m.interrupt = &journal.Interrupt{At: m.now}
	m.set.Interrupted()
}

func (m *setModel) journal(rt *rapid.T) {
	m.change(m.draw(rt), func(o *op.Op) { o.Journaled = true })
}

// attempt fails an attempt of an activity, which is begun again later.
func (m *setModel) attempt(rt *rapid.T) {
	n := m.draw(rt)
	if m.ops[n].Kind != abi.OpActivity || m.ops[n].Settled() {
		rt.Skip("no activity")
	}
	later := m.now + rapid.Int64Range(0, 20).Draw(rt, "delay")
	m.change(n, func(o *op.Op) { o.NextAt = later })
}

func (m *setModel) take(rt *rapid.T) {
	var want []uint32
	for n, o := range m.twins {
		if o.NeedsHost() && !m.taken[n] {
			want = append(want, n)
			m.taken[n] = true
		}
	}
	var got []uint32
	for _, o := range m.set.TakeUnbegun() {
		got = append(got, o.Number)
	}
	require.ElementsMatch(rt, want, got)
}

func (m *setModel) giveBack(rt *rapid.T) {
	n := m.draw(rt)
	m.set.GiveBack(m.ops[n].StepID)
	m.taken[n] = false
}

func (m *setModel) due(rt *rapid.T) {
	m.now += rapid.Int64Range(0, 10).Draw(rt, "time")
	var want, got time.Duration
	m.set.CompleteDue(m.now, m.deferreds, m.interrupt, m.signals, func(d time.Duration) { got += d + 1 })
	for _, o := range m.twins {
		if d, woke := o.CompleteDue(m.now, m.deferreds, m.interrupt); woke {
			want += d + 1
		}
	}
	// The oldest op of a name has the oldest signal of it.
	for _, n := range slices.Sorted(maps.Keys(m.twins)) {
		o := m.twins[n]
		if of := m.sent[o.Name]; o.Kind == abi.OpReceive && !o.Settled() && len(of) > 0 {
			o.Receive(of[0])
			m.sent[o.Name] = of[1:]
		}
	}
	require.Equal(rt, want, got, "it tells how late sleeps ended")
}

// compare holds all that the set answers against a look through the twins.
func (m *setModel) compare(rt *rapid.T) {
	require.Equal(rt, len(m.ops), m.set.Len())
	due, wake := journal.Never, journal.Never
	var ready []*op.Op
	var steps []journal.StepID
	for n, o := range m.twins {
		require.Equal(rt, o, m.ops[n])
		require.Same(rt, m.ops[n], m.set.Numbered(n))
		require.Same(rt, m.ops[n], m.set.Step(o.StepID))
		wake = min(wake, o.WakeAt())
		if !o.Settled() {
			due = min(due, o.DueAt())
		}
		if o.Outcome != nil && !o.Journaled {
			ready = append(ready, m.ops[n])
		}
		steps = append(steps, o.StepID)
	}
	slices.SortFunc(ready, op.CompareReady)
	rests := due
	for _, o := range m.twins {
		if due == journal.Never || o.WakeAt() == journal.Now ||
			o.DueAt() == journal.Never && o.Kind != abi.OpInterrupted && o.Kind != abi.OpReceive {
			rests = journal.Now
		}
	}
	if len(m.twins) == 0 {
		rests = journal.Now
	}
	require.Equal(rt, rests, m.set.RestsUntil())
	require.Equal(rt, due, m.set.DueAt())
	require.Equal(rt, wake, m.set.WakeAt())
	require.Equal(rt, ready, m.set.Ready())
	var bytes int64
	for _, o := range ready {
		bytes += op.Bytes(o.Outcome.Value, o.Outcome.Error)
	}
	require.Equal(rt, bytes, m.set.ReadyBytes())
	require.Equal(rt, len(ready) > 0, m.set.InHand())
	require.Equal(rt, journal.WaitingFor(7, steps), m.set.Waiting(7))
	require.ElementsMatch(rt, steps, m.set.Steps())
	require.ElementsMatch(rt, slices.Collect(maps.Values(m.ops)), slices.Collect(m.set.All()))
}
