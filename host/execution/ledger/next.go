package ledger

import (
	"cmp"
	"slices"

	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// MaxBatchBytes bounds the values and errors that one turn delivers together.
const MaxBatchBytes = 1 << 20

// Next decides the next delivery. Whatever has a sequence number goes in its order; a number that
// is still undecided holds up all behind it. Only then do outcomes without a number get theirs, in
// the order in which they came to be.
func (l *Ledger) Next(now int64) (Batch, bool) {
	slices.SortFunc(l.committed, func(a, b journal.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	for len(l.committed) > 0 {
		head := l.committed[0]
		for undecided := range l.reserved {
			if undecided < head.Seq {
				return Batch{}, false
			}
		}
		l.committed = l.committed[1:]
		if l.ops.Numbered(head.Op.Number) != nil {
			return Batch{Entries: []journal.Entry{head}, Durable: true, Unread: []bool{false}}, true
		}
		// The guest gave up on the op while its transaction was committing. The entry stays in the journal and is
		// passed over, now and on replay.
		l.delivered = head.Seq
	}
	if len(l.reserved) > 0 {
		return Batch{}, false
	}
	return l.numberOutcomes(now)
}

// numberOutcomes makes entries of the outcomes that are ready.
func (l *Ledger) numberOutcomes(now int64) (Batch, bool) {
	if !l.ops.InHand() {
		return Batch{}, false
	}
	at, size := l.Tick(now), 0
	l.turn++
	var b Batch
	for _, o := range l.ops.Ready() {
		if size += sizeOf(o); size > MaxBatchBytes && len(b.Entries) > 0 {
			break
		}
		l.seq++
		b.Entries = append(b.Entries, journal.Entry{
			Kind: journal.Delivery, Seq: l.seq, Turn: l.turn, At: at, Op: o.Op,
			Attempts: o.Attempts, Value: o.Outcome.Value, Error: o.Outcome.Error,
		})
		b.Ready = append(b.Ready, o.ReadyAt)
		b.Unread = append(b.Unread, o.Unread > 0)
		b.Messages = append(b.Messages, messageOf(o))
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
