package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// carriedOver holds outcomes and failed attempts of a run while it is rebuilt from the journal, so
// that unjournaled ones are not lost with the instance, and no activity runs again for them.
type carriedOver struct {
	outcomes map[journal.StepID]opDone
	attempts map[journal.StepID]journal.Entry
}

func newCarriedOver() carriedOver {
	return carriedOver{outcomes: map[journal.StepID]opDone{}, attempts: map[journal.StepID]journal.Entry{}}
}

func (k *carriedOver) clear() {
	clear(k.outcomes)
	clear(k.attempts)
}

// keep copies the undelivered outcomes of the ledger and of a batch.
func (k *carriedOver) keep(l *ledger, b batch) {
	for o := range l.ops.All() {
		switch {
		case o.Unread > 0: // the store has it
		case o.Outcome != nil:
			k.outcomes[o.StepID] = opDone{step: o.StepID, attempts: o.Attempts, outcome: *o.Outcome, at: o.ReadyAt}
		case o.Attempts > 0:
			k.attempts[o.StepID] = journal.Entry{Kind: journal.Attempt, Op: o.Op, Attempts: o.Attempts, Error: o.LastError, NextAt: o.NextAt}
		}
	}
	if b.durable {
		return
	}
	for i, en := range b.entries {
		if b.inStore(i) {
			continue // it is read again: it may be large, and is paid for only with a turn
		}
		step := en.Op.Step()
		k.outcomes[step] = opDone{step: step, attempts: en.Attempts, outcome: abi.Outcome{Value: en.Value, Error: en.Error}, at: b.ready[i]}
	}
}

// restore returns to the ledger the outcomes and attempts that the journal does not have.
func (k *carriedOver) restore(l *ledger) {
	for step, m := range k.outcomes {
		l.complete(step, m.outcome, m.attempts, m.at)
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
	k.clear()
}
