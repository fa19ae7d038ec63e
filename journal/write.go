package journal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cruster/cruster/abi"
)

// Write is a change of one execution or entity to commit: all of it or nothing. Exactly the parts that are set
// are written.
type Write struct {
	ID ID
	// Run is the run that the Write changes: if the row is of another, the Write fails with
	// ErrNotFound. For an entity it is zero.
	Run RunID
	// Chain is the run's chain, if it continues another; zero says that it is the run itself. It
	// names the inbox: if the run is of another chain, the Write fails with ErrNotFound.
	Chain RunID
	Fence Fence

	// Start inserts the execution. If it exists already nothing of this Write takes effect, and
	// Result.Existed is set. A run that was there before and is gone by now, or is superseded, is
	// not started again: ErrSwept. The id of a run is used once, and the rows that the run has left
	// behind go by it.
	Start *Execution
	// Replace is a finished run that the started one supersedes: see [EarlierReader]. If the row is
	// of another run, or has not ended, nothing of this Write takes effect, and Result.Existed is
	// set; if there is no row, it is a start as any other. It comes with a Start and at most a
	// Receive, which a message of its origin that the superseded run has not taken refuses, too.
	Replace RunID
	// Entries are appended to the journal. A sequence number that is taken already fails the Write.
	// A finished run takes none: ErrNotFound. All its other writes are taken, and wake nothing.
	Entries []Entry
	// Update changes the row; ErrNotFound if there is none.
	Update *Update
	// Receive puts a message into the inbox, a settlement into the inbox of the run's settlements.
	// An execution counts it ([Execution.Arrivals]), and is loaded if it is running: its wake time
	// becomes Now. If there is one of its origin, parked or not, or a receipt, nothing of this
	// Write takes effect, and Result.Existed is set. A run that had ended before this Write
	// receives none: ErrNotFound. A full inbox is ErrInboxFull ([MessageKind.Limit]), and so is one
	// of an entity with [MaxParked] or [MaxParkedBytes]. The messages that this Write takes, parks
	// and unparks do not matter to either.
	Receive *Message
	// Take takes messages out of the inbox. A position that is not there fails the Write.
	Take []uint64
	// Hold marks messages as delivered. A position that is not there fails the Write.
	Hold []uint64
	// Unpark puts parked messages of an entity back into its inbox, where they were. A message that
	// is not parked fails the Write. It comes before all else: a message that is unparked and taken
	// is dropped.
	Unpark []uint64
	// Park parks messages of the inbox of an entity: see [Parked]. A position that is not there, or is
	// taken by this Write, fails the Write.
	Park []Parked
	// Receipts are left of messages that were taken or answered at once. One whose origin has one already fails the
	// Write.
	Receipts []Receipt
	// Send puts messages into inboxes of entities, results and requests to stop into executions',
	// and messages into the inbox of the execution that it starts, as long as there are none of
	// their origins there, and no receipts. Only the last may be held. They are not fenced, and
	// wake nothing. If an inbox would hold more than [MaxSentInbox] or [MaxSentInboxBytes] then,
	// the Write fails with ErrInboxFull, unless the sent messages are not bounded; messages taken
	// from its own inbox have made room by then. So it does if a message is put into an inbox with
	// [MaxParked] or [MaxParkedBytes], as it was before the Write.
	Send []Sent
	// Link records the callee found by a step of this run. If the step has a link already, nothing
	// of this Write takes effect, and Result.Existed is set. If the callee is gone the Write fails
	// with ErrSwept.
	Link *Link
	// Hibernate replaces the saved state of the guest, if there is one. An empty body deletes it. A
	// finished execution has none: its last Update deletes it, and a later one is not kept.
	Hibernate *Hibernated
	// Publish replaces the published values of the run.
	Publish *Published
	// Continue has another run take the place of this one, in the same row: see [Continuation]. It
	// comes without an Update, and without anything it would delete.
	Continue *Continuation
	// Lock replaces the lock of an entity, or inserts it.
	Lock *Lock
	// Unlock deletes it, if there is one.
	Unlock bool
	// Entity replaces the row of an entity, or inserts it.
	Entity *Entity
	// Destroy deletes the row of an entity, if there is one. Its inbox and its receipts stay.
	Destroy bool
}

// Sent is a message on its way.
type Sent struct {
	To ID
	// Chain is the chain of the receiving inbox; zero for an entity's, and for the inbox of the
	// execution that the Write starts.
	Chain RunID
	Message
}

// Receiver is the inbox of the execution or entity that the Write is about.
func (w *Write) Receiver() Receiver {
	if w.OfEntity() {
		return Receiver{ID: w.ID}
	}
	return Receiver{w.ID, cmp.Or(w.Chain, w.Run)}
}

// ReceivedBy is the inbox that the message of Receive goes to.
func (w *Write) ReceivedBy() Receiver {
	if w.settles() {
		return SettlementsOf(w.ID, w.Run)
	}
	return w.Receiver()
}

// ReceiverOf is the inbox that a message of the Write goes to.
func (w *Write) ReceiverOf(sent *Sent) Receiver {
	if w.Start != nil && sent.To == w.ID && sent.Chain.IsZero() {
		return w.Receiver()
	}
	return Receiver{sent.To, sent.Chain}
}

// OfEntity tells whether the Write is about an entity: it names no run, and needs no row.
func (w *Write) OfEntity() bool { return w.Run.IsZero() }

// Update overwrites these columns of an execution, all of them.
type Update struct {
	State State
	// WakeAt is Now instead if the run is running and more has arrived than Arrivals, the number
	// known to its owner: it overwrites no wake time set by a message.
	WakeAt     int64
	Arrivals   uint64
	Value      []byte
	Error      *abi.Error
	FinishedAt int64
	Waiting    Waiting
	Section    StepID
	// Digest moves the execution to another module; empty leaves it where it is. MovedAt is the entry that records it.
	Digest  string
	MovedAt uint64
	// Interrupt is a request to stop that the run has taken; nil leaves the row as it is, and so
	// does an earlier interrupt.
	Interrupt *Interrupt
}

// Result is the outcome of one Write of a batch.
type Result struct {
	// Existed says that Start, Link or Receive found its row there already.
	Existed bool
	// Position is the position of Receive's message.
	Position uint64
	// Err is ErrFenced, ErrNotFound, ErrSwept, ErrInboxFull, or says which sequence number, position or receipt is not
	// as it should be; the other Writes of the batch are not affected by it.
	Err error
}

// Check returns the error of a Write in itself, whatever the store holds. Every store asks it
// before anything else; a Write that fails it takes no effect, and its neighbours in the batch are
// not affected.
func (w *Write) Check() error {
	if w.ID.IsZero() {
		return fmt.Errorf("journal: write without an execution id")
	}
	if w.Start != nil && w.Start.ID != w.ID {
		return fmt.Errorf("journal: write of execution %s starts execution %s", w.ID, w.Start.ID)
	}
	if w.OfEntity() && !w.fitsEntity() {
		return fmt.Errorf("journal: write of execution %s without a run id", w.ID)
	}
	if (w.Entity != nil || w.Destroy) && !w.OfEntity() {
		return fmt.Errorf("journal: write of run %s has an entity", w.Run)
	}
	if (w.Lock != nil || w.Unlock) && !w.OfEntity() {
		return fmt.Errorf("journal: write of run %s has the lock of an entity", w.Run)
	}
	if len(w.Park)+len(w.Unpark) > 0 && !w.OfEntity() {
		return fmt.Errorf("journal: write of run %s parks messages of an entity", w.Run)
	}
	if w.Lock != nil && (w.Lock.Entity != w.ID || w.Unlock || w.Lock.Holder.IsZero()) {
		return fmt.Errorf("journal: write of entity %s has a lock of %s, or without a holder", w.ID, w.Lock.Entity)
	}
	if c := w.Continue; c != nil && (c.Run.IsZero() || c.Run == w.Run || w.ofOneRun()) {
		return fmt.Errorf(
			"journal: write of run %s continues it as %s, or beside what the new one would not have", w.Run, c.Run,
		)
	}
	if !w.Replace.IsZero() &&
		(w.Start == nil || w.Replace == w.Run || len(w.Entries)+len(w.Send)+len(w.Receipts)+len(w.Take) > 0 ||
			w.Publish != nil) {
		return fmt.Errorf(
			"journal: write of run %s takes the place of %s without a start, or beside more than that", w.Run,
			w.Replace,
		)
	}
	if w.Publish != nil {
		if err := w.Publish.check(); err != nil {
			return fmt.Errorf("journal: what run %s publishes: %w", w.Run, err)
		}
	}
	if w.Entity != nil && (w.Entity.ID != w.ID || w.Destroy) {
		return fmt.Errorf("journal: write of entity %s has entity %s, or destroys it", w.ID, w.Entity.ID)
	}
	if e := w.Entity; e != nil && (e.Namespace == "" || e.Type == "" || e.Key == "") {
		return fmt.Errorf("journal: entity %s has no namespace, type or key", w.ID)
	}
	if err := w.checkMessages(); err != nil {
		return err
	}
	if s := w.Start; s != nil && (s.Run != w.Run || cmp.Or(s.Chain, s.Run) != cmp.Or(w.Chain, w.Run)) {
		return fmt.Errorf("journal: write of run %s starts run %s, or another chain", w.Run, s.Run)
	}
	if w.Link != nil && w.Start != nil {
		return fmt.Errorf("journal: write of execution %s has a link beside a start", w.ID)
	}
	if h := w.Hibernate; h != nil && (len(h.Body) > MaxHibernated || h.Seq > math.MaxInt64) {
		return fmt.Errorf(
			"journal: saved state of execution %s, after entry %d, has %d bytes", w.ID, h.Seq, len(h.Body),
		)
	}
	for i := range w.Entries {
		// Databases count in int64, and Entries reads the numbers above 0.
		if seq := w.Entries[i].Seq; seq == 0 || seq > math.MaxInt64 {
			return fmt.Errorf("journal: entry of execution %s has sequence number %d", w.ID, seq)
		}
	}
	return nil
}

// fitsEntity tells whether the Write has nothing that only executions have.
func (w *Write) fitsEntity() bool {
	return w.Start == nil && len(w.Entries) == 0 && w.Update == nil && !w.settles() && w.Link == nil &&
		w.Hibernate == nil &&
		len(w.Hold) == 0 && w.Publish == nil && w.Continue == nil
}

// ofOneRun tells whether the Write has something that a run which continues another does not take over.
func (w *Write) ofOneRun() bool {
	return w.Start != nil || len(w.Entries)+len(w.Hold) > 0 || w.Update != nil || w.settles() || w.Link != nil ||
		w.Hibernate != nil
}

// settles tells whether the Write settles a deferred.
func (w *Write) settles() bool { return w.Receive != nil && w.Receive.Kind == SettleMessage }

func (w *Write) checkMessages() error {
	if m := w.Receive; m != nil {
		if err := m.check(); err != nil {
			return fmt.Errorf("journal: message to %s: %w", w.ID, err)
		}
		if m.Held {
			return fmt.Errorf("journal: message to %s is held before it is there", w.ID)
		}
	}
	for i := range w.Send {
		sent := &w.Send[i]
		if sent.To.IsZero() {
			return fmt.Errorf("journal: message from %s without a receiver", w.ID)
		}
		if sent.Held && (w.Start == nil || sent.To != w.ID) {
			return fmt.Errorf("journal: message from %s to %s is held before it is there", w.ID, sent.To)
		}
		if err := sent.check(); err != nil {
			return fmt.Errorf("journal: message from %s to %s: %w", w.ID, sent.To, err)
		}
	}
	if slices.ContainsFunc(w.Receipts, func(r Receipt) bool { return r.Origin == Origin{} }) {
		return fmt.Errorf("journal: receipt of %s without an origin", w.ID)
	}
	for _, position := range slices.Concat(w.Take, w.Hold, w.Unpark) {
		if position == 0 || position > math.MaxInt64 {
			return fmt.Errorf("journal: write of %s takes, holds or unparks message %d", w.ID, position)
		}
	}
	for i := range w.Park {
		if err := w.Park[i].check(); err != nil {
			return fmt.Errorf("journal: write of %s parks message %d: %w", w.ID, w.Park[i].Position, err)
		}
	}
	return nil
}

func (m *Message) check() error {
	switch {
	case m.Kind == "" || m.Origin == Origin{}:
		return errors.New("it has no kind, or no origin")
	case m.Kind == SettleMessage && (m.Name == "" || m.Origin != OriginOfDeferred(m.Name) || m.Bytes == 0):
		return errors.New("it settles no deferred, or that of another name")
	case m.Position != 0:
		return errors.New("it has a position")
	case m.Bytes != len(m.Value):
		return fmt.Errorf("it says that it has %d bytes, not %d", m.Bytes, len(m.Value))
	}
	return nil
}

// savesState tells whether all that the Write asks for is that the saved state of the guest is replaced.
func (w *Write) savesState() bool {
	return w.Hibernate != nil && w.Start == nil && len(w.Entries) == 0 && w.Update == nil && w.Link == nil &&
		w.Receive == nil && len(w.Take)+len(w.Hold)+len(w.Receipts)+len(w.Send) == 0 && w.Publish == nil &&
		w.Continue == nil
}

// Size estimates how many bytes a Write adds to the store: close enough to bound a batch.
func (w *Write) Size() int {
	const row = 128 // keys, times and headers
	n := row
	if w.Start != nil {
		n += row + len(w.Start.Input) + len(w.Start.Key) + len(w.Start.Workflow)
	}
	for i := range w.Entries {
		e := &w.Entries[i]
		n += row + len(e.Value) + len(e.Op.Name) + len(e.Op.Key)
		if e.Error != nil {
			n += len(e.Error.Message) + len(e.Error.Details)
		}
	}
	if w.Update != nil {
		n += len(w.Update.Value)
	}
	if w.Hibernate != nil {
		n += row + len(w.Hibernate.Body)
	}
	if w.Receive != nil {
		n += row + len(w.Receive.Value)
	}
	for i := range w.Send {
		n += row + len(w.Send[i].Value)
	}
	for i := range w.Receipts {
		r := &w.Receipts[i]
		n += row + len(r.Value)
		if r.Error != nil {
			n += len(r.Error.Message) + len(r.Error.Details)
		}
	}
	if w.Entity != nil {
		n += row + len(w.Entity.State)
	}
	if w.Publish != nil {
		n += w.Publish.Size() + row
	}
	if w.Continue != nil {
		n += row + len(w.Continue.Input)
	}
	if w.Lock != nil {
		n += row
	}
	for i := range w.Park {
		p := &w.Park[i]
		n += row + len(p.Namespace) + len(p.Type) + len(p.Key) + len(p.Reason.Message) + len(p.Reason.Details)
	}
	return n + 8*(len(w.Take)+len(w.Hold)+len(w.Unpark))
}
