package op

import (
	"cmp"
	"container/heap"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Set holds the ops that a guest waits for: issued, neither delivered nor cancelled.
//
// A workflow may wait for ten thousand of them and take a turn for each, so nothing here looks at all: the answers for
// a turn (ready ops, the next due one, ops for the host to begin) are kept up to date with each change. Hence the one
// rule: an op in a set is changed by the methods of the set, or within [Set.Change].
type Set struct {
	slots map[uint32]*slot         // by number
	steps map[journal.StepID]*slot // the same, by step
	sum   journal.StepSum          // of the steps

	ready  map[uint32]*Op // have an outcome that is not journaled
	bytes  int64          // of these outcomes, as far as they are in memory
	timed  timedHeap      // wait for a time
	urgent int            // have an outcome, or need the host
	begin  []*slot        // need the host and were not taken; may hold some that do not any more
	fresh  []*slot        // may be complete without a time: to be looked at

	deferreds  map[string][]*slot // wait for a deferred, by its name
	interrupts []*slot            // wait for an interrupt
	receives   map[string][]*slot // wait for a message, by its queue, in order of issue
	receiving  int                // how many those are
	arrived    []string           // queues: to be looked at
}

// slot is an op with where the set has put it.
type slot struct {
	op     *Op
	bytes  int64 // of its outcome, if it is ready
	due    int64 // by which timed is ordered
	timed  int   // position in timed, from 1 on; 0 is not there
	urgent bool
	queued bool // in begin
	taken  bool // the host works for it
	fresh  bool
	gone   bool
}

// NewSet makes an empty set.
func NewSet() *Set {
	return &Set{
		slots:     map[uint32]*slot{},
		steps:     map[journal.StepID]*slot{},
		ready:     map[uint32]*Op{},
		deferreds: map[string][]*slot{},
		receives:  map[string][]*slot{},
	}
}

// Len counts the ops.
func (s *Set) Len() int { return len(s.slots) }

// All yields the ops in any order.
func (s *Set) All() iter.Seq[*Op] {
	return func(yield func(*Op) bool) {
		for _, at := range s.slots {
			if !yield(at.op) {
				return
			}
		}
	}
}

// Numbered finds an op by its number; nil if it is not in the set.
func (s *Set) Numbered(number uint32) *Op { return s.slots[number].opOrNil() }

// Step finds an op by its step; nil if it is not in the set.
func (s *Set) Step(step journal.StepID) *Op { return s.steps[step].opOrNil() }

func (at *slot) opOrNil() *Op {
	if at == nil {
		return nil
	}
	return at.op
}

// Waiting are the waits of a run that has seen the entries up to seq.
func (s *Set) Waiting(seq uint64) journal.Waiting {
	if len(s.steps) > journal.MaxListed {
		return journal.Waiting{Seq: seq, Steps: s.sum}
	}
	return journal.WaitingFor(seq, s.Steps())
}

// Steps lists the steps in any order.
func (s *Set) Steps() []journal.StepID { return slices.Collect(maps.Keys(s.steps)) }

// Add adds an op that was issued.
func (s *Set) Add(o *Op) {
	at := &slot{op: o}
	s.slots[o.Number], s.steps[o.StepID] = at, at
	s.sum.Add(o.StepID)
	switch o.Kind {
	case abi.OpDeferred:
		s.deferreds[o.Name] = append(s.deferreds[o.Name], at)
	case abi.OpInterrupted:
		s.interrupts = append(s.interrupts, at)
	case abi.OpReceive, abi.OpUpdate:
		s.addReceive(at)
	}
	s.look(at)
	s.sort(at)
}

// Remove takes an op out, and returns it; nil if it is not in the set.
func (s *Set) Remove(number uint32) *Op {
	at := s.slots[number]
	if at == nil {
		return nil
	}
	delete(s.slots, number)
	delete(s.steps, at.op.StepID)
	s.sum.Add(at.op.StepID)
	at.gone = true
	switch at.op.Kind {
	case abi.OpDeferred:
		forget(s.deferreds, at)
	case abi.OpInterrupted:
		s.interrupts = slices.DeleteFunc(s.interrupts, func(i *slot) bool { return i == at })
	case abi.OpReceive, abi.OpUpdate:
		forget(s.receives, at)
		s.receiving--
	}
	s.sort(at)
	return at.op
}

// forget takes an op out of the ops that wait for something of its name.
func forget(waiting map[string][]*slot, at *slot) {
	name := at.op.Name
	if left := slices.DeleteFunc(waiting[name], func(d *slot) bool { return d == at }); len(left) > 0 {
		waiting[name] = left
	} else {
		delete(waiting, name)
	}
}

func (s *Set) addReceive(at *slot) {
	name := at.op.Name
	of := s.receives[name]
	i, _ := slices.BinarySearchFunc(of, at, func(a, b *slot) int { return cmp.Compare(a.op.Number, b.op.Number) })
	s.receives[name] = slices.Insert(of, i, at)
	s.receiving++
	s.arrived = append(s.arrived, name)
}

// Change changes an op of the set. It does nothing if the step is not in it.
func (s *Set) Change(step journal.StepID, change func(o *Op)) {
	if at := s.steps[step]; at != nil {
		change(at.op)
		s.sort(at)
	}
}

// Settled says that a deferred was settled: ops that wait for it are complete with the next [Set.CompleteDue].
func (s *Set) Settled(deferred string) {
	for _, at := range s.deferreds[deferred] {
		s.look(at)
	}
}

// Interrupted says that there is an interrupt: ops that wait for it are complete with the next [Set.CompleteDue].
func (s *Set) Interrupted() {
	for _, at := range s.interrupts {
		s.look(at)
	}
}

// Arrived says that a message is in a queue: an op that waits for it is complete with the next [Set.CompleteDue].
func (s *Set) Arrived(queue string) {
	if len(s.receives[queue]) > 0 {
		s.arrived = append(s.arrived, queue)
	}
}

// Messages are the messages that no op has been given yet. An op waits in the queue of its name: an
// op that waits for updates has none.
type Messages interface {
	// Take takes the first of a queue.
	Take(queue string) (journal.Envelope, bool)
}

// Receives tells whether an op waits for signals of a name.
func (s *Set) Receives(name string) bool { return len(s.receives[name]) > 0 }

// TakeBack takes the messages of a queue from the ops that were given them: they wait again.
func (s *Set) TakeBack(queue string) (messages []journal.Envelope) {
	for _, at := range s.receives[queue] {
		if at.op.Message != nil {
			messages = append(messages, *at.op.Message)
			at.op.Outcome, at.op.Message, at.op.Unread, at.op.ReadyAt = nil, nil, 0, 0
			s.sort(at)
		}
	}
	return messages
}

// receive gives messages to the ops that wait for them, in the order of both.
func (s *Set) receive(messages Messages) {
	for _, queue := range s.arrived {
		for _, at := range s.receives[queue] {
			if at.op.Settled() {
				continue
			}
			e, ok := messages.Take(queue)
			if !ok {
				break
			}
			at.op.Receive(e)
			s.sort(at)
		}
	}
	s.arrived = s.arrived[:0]
}

// look has an op looked at by the next CompleteDue.
func (s *Set) look(at *slot) {
	if !at.fresh {
		at.fresh = true
		s.fresh = append(s.fresh, at)
	}
}

// CompleteDue gives ops their outcome that have become ready by themselves, and reports how late each sleep ended.
func (s *Set) CompleteDue(
	now int64, deferreds map[string]journal.Settlement, interrupt *journal.Interrupt, messages Messages,
	late func(time.Duration),
) {
	complete := func(at *slot) {
		if d, woke := at.op.CompleteDue(now, deferreds, interrupt); woke {
			late(d)
		}
		s.sort(at)
	}
	for _, at := range s.fresh {
		at.fresh = false
		if !at.gone {
			complete(at)
		}
	}
	clear(s.fresh)
	s.fresh = s.fresh[:0]
	s.receive(messages)
	for len(s.timed) > 0 && s.timed[0].due <= now {
		complete(s.timed[0])
	}
}

// Ready lists the ops that have an outcome which is not journaled, in the order in which they are delivered.
func (s *Set) Ready() []*Op { return slices.SortedFunc(maps.Values(s.ready), CompareReady) }

// InHand tells whether there are such ops.
func (s *Set) InHand() bool { return len(s.ready) > 0 }

// ReadyBytes is how many bytes these outcomes take.
func (s *Set) ReadyBytes() int64 { return s.bytes }

// Bytes is about how many bytes an outcome takes.
func Bytes(value []byte, err *abi.Error) int64 {
	bytes := len(value)
	if err != nil {
		bytes += len(err.Message) + len(err.Hint) + len(err.Type) + len(err.Details)
	}
	return int64(bytes)
}

// DueAt is when an op next becomes ready because of the time. A settled op waits for its place in the journal, not for
// a time.
func (s *Set) DueAt() int64 {
	if len(s.timed) == 0 {
		return journal.Never
	}
	return s.timed[0].due
}

// WakeAt is when an owner without these ops in memory must load them.
func (s *Set) WakeAt() int64 {
	if s.urgent > 0 {
		return journal.Now
	}
	return s.DueAt()
}

// RestsUntil is the time before which nothing is expected to complete; [journal.Now] if the host or others may complete
// an op at any moment. A wait for an interrupt or a message beside a time is not expected to get one.
func (s *Set) RestsUntil() int64 {
	if len(s.timed) == 0 || s.urgent > 0 || len(s.timed)+len(s.interrupts)+s.receiving < len(s.slots) {
		return journal.Now
	}
	return s.DueAt()
}

// TakeUnbegun hands out the ops that need the host, each once, unless it is given back, or needs the host anew after a
// pause.
func (s *Set) TakeUnbegun() []*Op {
	var ops []*Op
	for _, at := range s.begin {
		at.queued = false
		if !at.gone && !at.taken && at.op.NeedsHost() {
			at.taken = true
			ops = append(ops, at.op)
		}
	}
	clear(s.begin)
	s.begin = s.begin[:0]
	return ops
}

// GiveBack says that the host does not work for an op any more. If it still needs the host it is handed out again.
func (s *Set) GiveBack(step journal.StepID) {
	if at := s.steps[step]; at != nil {
		at.taken = false
		s.sort(at)
	}
}

// sort puts an op where it belongs after a change.
func (s *Set) sort(at *slot) {
	o := at.op
	s.bytes -= at.bytes
	if o.Outcome != nil && !o.Journaled && !at.gone {
		s.ready[o.Number] = o
		at.bytes = Bytes(o.Outcome.Value, o.Outcome.Error)
	} else {
		delete(s.ready, o.Number)
		at.bytes = 0
	}
	s.bytes += at.bytes
	if urgent := !at.gone && (o.Settled() || o.NeedsHost()); urgent != at.urgent {
		at.urgent = urgent
		s.urgent += map[bool]int{true: 1, false: -1}[urgent]
	}
	if o.NeedsHost() && !at.taken && !at.queued && !at.gone {
		at.queued = true
		s.begin = append(s.begin, at)
	}
	due := journal.Never
	if !o.Settled() && !at.gone {
		due = o.DueAt()
	}
	s.timed.put(at, due)
}

// timedHeap orders ops by when they are due.
type timedHeap []*slot

func (h *timedHeap) put(at *slot, due int64) {
	switch {
	case at.timed > 0 && due == journal.Never:
		heap.Remove(h, at.timed-1)
	case at.timed > 0 && due != at.due:
		at.due = due
		heap.Fix(h, at.timed-1)
	case at.timed == 0 && due != journal.Never:
		at.due = due
		heap.Push(h, at)
	}
}

// Len implements heap.Interface.
func (h timedHeap) Len() int { return len(h) }

// Less implements heap.Interface.
func (h timedHeap) Less(i, j int) bool { return h[i].due < h[j].due }

// Swap implements heap.Interface.
func (h timedHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].timed, h[j].timed = i+1, j+1
}

// Push implements heap.Interface.
func (h *timedHeap) Push(x any) {
	at := x.(*slot)
	*h = append(*h, at)
	at.timed = len(*h)
}

// Pop implements heap.Interface.
func (h *timedHeap) Pop() any {
	last := len(*h) - 1
	at := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	at.timed = 0
	return at
}
