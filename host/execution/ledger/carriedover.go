package ledger

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// CarriedOver holds outcomes and failed attempts of a run while it is rebuilt from the journal, so
// that unjournaled ones are not lost with the instance, and no activity runs again for them.
type CarriedOver struct {
	outcomes map[journal.StepID]carriedOutcome
	attempts map[journal.StepID]journal.Entry
}

type carriedOutcome struct {
	attempts uint32
	outcome  abi.Outcome
	at       int64 // when it came to be
}

// NewCarriedOver returns an empty CarriedOver.
func NewCarriedOver() CarriedOver {
	return CarriedOver{outcomes: map[journal.StepID]carriedOutcome{}, attempts: map[journal.StepID]journal.Entry{}}
}

// Clear drops all that is held.
func (k *CarriedOver) Clear() {
	clear(k.outcomes)
	clear(k.attempts)
}

// Keep copies the undelivered outcomes of the ledger and of a batch.
func (k *CarriedOver) Keep(l *Ledger, b Batch) {
	for o := range l.ops.All() {
		switch {
		case o.Unread > 0: // the store has it
		case o.Outcome != nil:
			k.outcomes[o.StepID] = carriedOutcome{attempts: o.Attempts, outcome: *o.Outcome, at: o.ReadyAt}
		case o.Attempts > 0:
			k.attempts[o.StepID] = journal.Entry{
				Kind: journal.Attempt, Op: o.Op, Attempts: o.Attempts, Error: o.LastError, NextAt: o.NextAt,
			}
		}
	}
	if b.Durable {
		return
	}
	for i, en := range b.Entries {
		if b.InStore(i) {
			continue // it is read again: it may be large, and is paid for only with a turn
		}
		step := en.Op.Step()
		k.outcomes[step] = carriedOutcome{
			attempts: en.Attempts, outcome: abi.Outcome{Value: en.Value, Error: en.Error}, at: b.Ready[i],
		}
	}
}

// Restore returns to the ledger the outcomes and attempts that the journal does not have.
func (k *CarriedOver) Restore(l *Ledger) {
	for step, m := range k.outcomes {
		l.Complete(step, m.outcome, m.attempts, m.at)
	}
	for step, en := range k.attempts {
		l.ops.Change(step, func(o *op.Op) {
			if o.Settled() || o.Attempts >= en.Attempts {
				return
			}
			o.Attempts, o.LastError, o.NextAt = en.Attempts, en.Error, en.NextAt
			en.Op = o.Op // its number may be another one, if the code is
			l.attempts = append(l.attempts, en)
		})
	}
	k.Clear()
}

// Bytes is how many bytes of outcomes are held.
func (k *CarriedOver) Bytes() (bytes int64) {
	for _, m := range k.outcomes {
		bytes += op.Bytes(m.outcome.Value, m.outcome.Error)
	}
	return bytes
}
