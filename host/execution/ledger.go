package execution

import (
	"cmp"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// maxBatchBytes bounds the values and errors that one turn delivers together.
const maxBatchBytes = 1 << 20

// ledger tracks the ops of a run and the order of its journal. It decides which completion is
// delivered when, and under which sequence number.
//
// Invariants:
//
//  1. A sequence number is assigned once, whatever becomes of it.
//  2. Entries are delivered in the order of their numbers. A number that a
//     transaction has reserved holds up all behind it until it is resolved.
//  3. Journal time never runs backwards.
//
// A ledger is a value without a clock, a lock or a store: the run guards it.
type ledger struct {
	seq       uint64 // last sequence number assigned
	turn      uint64 // last turn assigned
	clock     int64  // journal time last assigned
	delivered uint64 // sequence number of the last delivery that the guest saw
	frozen    bool   // no number is reserved any more

	reserved     map[uint64]struct{}              // numbers whose transaction is undecided
	ops          *op.Set                          // issued, neither delivered nor cancelled
	inbox        *message.Inbox                   // messages that are not done with
	results      []result                         // of callees, to be given to their ops
	unwanted     []uint64                         // results in the inbox that no op waits for
	awaited      []journal.Envelope               // steps that wait for the run and have not started it
	committed    []journal.Entry                  // entries of transactions, to be delivered in order
	held         map[journal.StepID]journal.Entry // outcomes of steps that other code has come to
	heldAttempts map[journal.StepID]journal.Entry // known attempts of such steps
	attempts     []journal.Entry                  // failed attempts, to be committed with the next write
	section      op.Section                       // the critical section that the guest is in
}

func newLedger() ledger {
	return ledger{reserved: map[uint64]struct{}{}, ops: op.NewSet(), inbox: message.NewInbox(nil)}
}

// batch holds the deliveries of one turn to the guest.
type batch struct {
	entries []journal.Entry
	// durable says that the entries are in the journal already, committed together
	// with the SQL of their activity.
	durable bool
	// ready is when each outcome came to be.
	ready []int64
	// unread marks the entries whose outcome is in the store: see settlements and fillMessages.
	unread []bool
	// messages are delivered by the entries; nil for other entries.
	messages []*journal.Message
}

// inStore tells whether the store has the payload of an entry: a settlement, or a message that is
// still in the inbox, or its delivery in the journal.
func (b *batch) inStore(i int) bool {
	return b.unread != nil && b.unread[i] || b.messages != nil && b.messages[i] != nil
}

// empty drops the stored contents of the batch, so that they are read again.
func (b *batch) empty() {
	for i := range b.entries {
		if !b.inStore(i) {
			continue
		}
		b.entries[i].Value, b.entries[i].Error = nil, nil
		if b.messages != nil && b.messages[i] != nil {
			b.messages[i] = &journal.Message{Envelope: b.messages[i].Envelope}
		}
	}
}

// write adds the deliveries of the batch to a write: entries, and the receipt of messages. Signals
// and updates stay in place until this turn or a later one acknowledges them.
func (b *batch) write(w *journal.Write) {
	if b.durable {
		return
	}
	w.Entries = append(w.Entries, b.entries...)
	for _, m := range b.messages {
		switch {
		case m == nil:
		case m.Kind == journal.ResultMessage:
			w.Take = append(w.Take, m.Position)
		default:
			w.Hold = append(w.Hold, m.Position)
		}
	}
}

// delivered returns the signals and updates that the batch delivers, without payloads.
func (b *batch) delivered() (delivered []journal.Envelope) {
	for _, m := range b.messages {
		if m != nil && m.Kind != journal.ResultMessage {
			delivered = append(delivered, m.Envelope)
		}
	}
	return delivered
}

// next decides the next delivery. Whatever has a sequence number goes in its order; a number that
// is still undecided holds up all behind it. Only then do outcomes without a number get theirs, in
// the order in which they came to be.
func (l *ledger) next(now int64) (batch, bool) {
	slices.SortFunc(l.committed, func(a, b journal.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	for len(l.committed) > 0 {
		head := l.committed[0]
		for undecided := range l.reserved {
			if undecided < head.Seq {
				return batch{}, false
			}
		}
		l.committed = l.committed[1:]
		if l.ops.Numbered(head.Op.Number) != nil {
			return batch{entries: []journal.Entry{head}, durable: true, unread: []bool{false}}, true
		}
		// The guest gave up on the op while its transaction was committing. The entry
		// stays in the journal and is passed over, now and on replay.
		l.delivered = head.Seq
	}
	if len(l.reserved) > 0 {
		return batch{}, false
	}
	return l.numberOutcomes(now)
}

// numberOutcomes makes entries of the outcomes that are ready.
func (l *ledger) numberOutcomes(now int64) (batch, bool) {
	if !l.ops.InHand() {
		return batch{}, false
	}
	at, size := l.tick(now), 0
	l.turn++
	var b batch
	for _, o := range l.ops.Ready() {
		if size += sizeOf(o); size > maxBatchBytes && len(b.entries) > 0 {
			break
		}
		l.seq++
		b.entries = append(b.entries, journal.Entry{
			Kind: journal.Delivery, Seq: l.seq, Turn: l.turn, At: at, Op: o.Op,
			Attempts: o.Attempts, Value: o.Outcome.Value, Error: o.Outcome.Error,
		})
		b.ready = append(b.ready, o.ReadyAt)
		b.unread = append(b.unread, o.Unread > 0)
		b.messages = append(b.messages, messageOf(o))
	}
	return b, true
}

// messageOf returns the message that an op was given, without its payload; nil if there is none.
func messageOf(o *op.Op) *journal.Message {
	if o.Message == nil {
		return nil
	}
	return &journal.Message{Envelope: *o.Message}
}

// sizeOf is about how many bytes the outcome of an op takes in the body of a turn.
func sizeOf(o *op.Op) int {
	const envelope = 64
	size := envelope + o.Unread + int(op.Bytes(o.Outcome.Value, o.Outcome.Error))
	if o.Outcome.Error != nil {
		size += envelope
	}
	return size
}

// tick is the journal time of a new entry: it never runs backwards.
func (l *ledger) tick(now int64) int64 {
	l.clock = max(l.clock, now)
	return l.clock
}

// reserve gives the transaction of an activity its place in the journal. It reports
// false if the op is no longer waited for.
func (l *ledger) reserve(step journal.StepID, value []byte, attempts uint32, now int64) (journal.Entry, bool) {
	o := l.ops.Step(step)
	if o == nil || o.Settled() || l.frozen {
		return journal.Entry{}, false
	}
	l.seq++
	l.turn++
	l.reserved[l.seq] = struct{}{}
	return journal.Entry{
		Kind: journal.Delivery, Seq: l.seq, Turn: l.turn, At: l.tick(now), Op: o.Op, Attempts: attempts, Value: value,
	}, true
}

// isNext tells whether the entry of a transaction that is still open, and that answers a
// step, is all there is to deliver.
func (l *ledger) isNext(entry journal.Entry, step journal.StepID) bool {
	_, undecided := l.reserved[entry.Seq]
	if !undecided || len(l.reserved) > 1 || l.frozen || l.ops.InHand() {
		return false
	}
	if len(l.committed)+len(l.attempts)+len(l.held)+len(l.heldAttempts) > 0 {
		return false
	}
	o := l.ops.Step(step) // other code has another number
	return o != nil && o.Number == entry.Op.Number && !o.Settled()
}

// void says that a reserved number stays a gap.
func (l *ledger) void(seq uint64) { delete(l.reserved, seq) }

// commit says that the transaction of a reserved number is durable.
func (l *ledger) commit(entry journal.Entry) {
	delete(l.reserved, entry.Seq)
	if o := l.ops.Numbered(entry.Op.Number); o != nil {
		l.ops.Change(o.StepID, func(o *op.Op) { o.Journaled = true })
	}
	l.committed = append(l.committed, entry)
}

// complete gives an op the outcome that came to be at a time, if it is still waited
// for.
func (l *ledger) complete(step journal.StepID, outcome abi.Outcome, attempts uint32, at int64) {
	l.ops.Change(step, func(o *op.Op) { o.Settle(outcome, attempts, at) })
}

// attemptFailed decides whether an activity is tried again. If so the failure
// becomes an entry of its own: attempts and delays survive a crash.
func (l *ledger) attemptFailed(step journal.StepID, failure *abi.Error, now int64, random func() float64) (failed failedAttempt) {
	l.ops.Change(step, func(o *op.Op) {
		if body, ok := o.Body.(*abi.Activity); ok && !o.Settled() {
			failed = l.failAttempt(o, body, failure, now, random)
		}
	})
	return failed
}

func (l *ledger) failAttempt(o *op.Op, body *abi.Activity, failure *abi.Error, now int64, random func() float64) failedAttempt {
	o.Attempts++
	o.LastError = journal.Brief(failure)
	failed := failedAttempt{activity: body.Name, number: o.Attempts, err: failure}
	if !failure.Retryable || o.Attempts > body.Retry.Retries {
		failed.last = true
		o.Settle(abi.Outcome{Error: failure}, o.Attempts, now)
		return failed
	}
	failed.delay = activity.Backoff(body.Retry, o.Attempts, random)
	entry := journal.Entry{
		Kind: journal.Attempt, Op: o.Op, Attempts: o.Attempts, Error: failure,
		NextAt: op.AddTime(now, failed.delay),
	}
	o.Note(entry) // as a replay will
	l.attempts = append(l.attempts, entry)
	return failed
}

// takeAttempts numbers the failed attempts that are to be committed, and hands them
// over.
func (l *ledger) takeAttempts(now int64) []journal.Entry {
	entries := l.attempts
	l.attempts = nil
	for i := range entries {
		l.seq++
		entries[i].Seq, entries[i].At = l.seq, l.tick(now)
	}
	return entries
}

// applyTurn takes delivered and cancelled ops from the pending ones and adds those
// just issued. It returns the steps that the guest gave up on.
func (l *ledger) applyTurn(delivered []journal.Entry, turn guest.Turn) (gaveUp []journal.StepID) {
	for _, en := range delivered {
		l.ops.Remove(en.Op.Number)
	}
	for _, o := range turn.Issued {
		l.ops.Add(o)
		l.ops.Change(o.StepID, l.giveHeld)
	}
	for _, number := range turn.Cancelled {
		if o := l.ops.Remove(number); o != nil {
			gaveUp = append(gaveUp, o.StepID)
			switch {
			case o.Message == nil:
			case o.Message.Kind == journal.ResultMessage:
				l.unwanted = append(l.unwanted, o.Message.Position)
			default:
				l.dealAgain(*o.Message)
			}
		}
	}
	return append(gaveUp, l.enterTurn(delivered, turn)...)
}

// hold takes the outcomes of steps that the code which the execution was moved from had come to,
// and this one has not: they are known already when it does. It takes the known attempts as well.
func (l *ledger) hold(held, attempts map[journal.StepID]journal.Entry) {
	l.held, l.heldAttempts = held, attempts
	for _, step := range l.ops.Steps() {
		l.ops.Change(step, l.giveHeld)
	}
}

func (l *ledger) giveHeld(o *op.Op) {
	if en, ok := l.heldAttempts[o.StepID]; ok {
		o.Note(en)
		delete(l.heldAttempts, o.StepID)
	}
	if en, ok := l.held[o.StepID]; ok {
		o.Settle(abi.Outcome{Value: en.Value, Error: en.Error}, en.Attempts, en.At)
		delete(l.held, o.StepID)
	} else if o.Kind == abi.OpPatched && replay.HaveRun(l.held) {
		// Steps that come later have run: the execution had passed this place.
		o.Settle(abi.Outcome{Value: abi.MustMarshal(false)}, 0, o.IssuedAt)
	}
}

// pending is the ops by number.
func (l *ledger) pending() map[uint32]*op.Op {
	pending := make(map[uint32]*op.Op, l.ops.Len())
	for o := range l.ops.All() {
		pending[o.Number] = o
	}
	return pending
}

// open takes in the inbox as it is stored. It returns the requests to stop.
func (l *ledger) open(inbox []journal.Envelope) (stops []journal.Envelope) {
	var mail []journal.Envelope
	l.results, l.unwanted, l.awaited = nil, nil, nil
	for _, e := range inbox {
		switch e.Kind {
		case journal.ResultMessage:
			l.results = append(l.results, resultOf(e))
		case journal.AwaitMessage:
			l.awaited = append(l.awaited, e)
		case journal.InterruptMessage, journal.TerminateMessage:
			stops = append(stops, e)
		default:
			mail = append(mail, e)
		}
	}
	l.inbox = message.NewInbox(mail)
	return stops
}

// arrived takes in a message that is durable, and that no op has.
func (l *ledger) arrived(e journal.Envelope) {
	if e.Kind == journal.AwaitMessage {
		l.awaited = append(l.awaited, e)
		return
	}
	l.inbox.Add(e)
	l.ops.Arrived(message.QueueOf(e))
}

// dealAgain takes back a message from an op that was given up, for the next op that asks. Other ops may
// have been given later messages of its queue, and not been delivered: they are given theirs anew, so
// that the queue keeps its order.
func (l *ledger) dealAgain(e journal.Envelope) {
	for _, later := range l.ops.TakeBack(message.QueueOf(e)) {
		l.inbox.Add(later)
	}
	l.arrived(e)
}

// setPending replaces the ops that are pending.
func (l *ledger) setPending(pending map[uint32]*op.Op) {
	l.ops = op.NewSet()
	for _, o := range pending {
		l.ops.Add(o)
	}
}

// waitingAfter returns the waiting state of the run once it has seen entries, as a replay will find
// it.
func (l *ledger) waitingAfter(seen []journal.Entry) journal.Waiting {
	seq := l.delivered
	if n := len(seen); n > 0 {
		seq = seen[n-1].Seq
	}
	return l.ops.Waiting(seq)
}

// deadlocked tells whether a parked guest has no op left that could be delivered.
func (l *ledger) deadlocked() bool { return l.ops.Len() == 0 && len(l.reserved) == 0 }

// forgetOps drops everything but the assigned and the reserved numbers.
func (l *ledger) forgetOps() {
	l.ops = op.NewSet()
	l.committed, l.attempts, l.held, l.heldAttempts = nil, nil, nil, nil
	l.section = op.Section{}
}
