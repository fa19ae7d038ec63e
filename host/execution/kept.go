package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// kept is what a run has in hand while it is rebuilt from the journal: outcomes, and
// attempts that failed. What the journal does not have by then is not lost with the
// instance, and no activity runs again for it.
type kept struct {
	outcomes map[uint32]opDone
	attempts map[uint32]journal.Entry
}

func newKept() kept {
	return kept{outcomes: map[uint32]opDone{}, attempts: map[uint32]journal.Entry{}}
}

func (k *kept) clear() {
	clear(k.outcomes)
	clear(k.attempts)
}

// keep takes what the ledger and a batch have in hand.
func (k *kept) keep(l *ledger, b batch) {
	for _, o := range l.pending {
		switch {
		case o.Outcome != nil:
			k.outcomes[o.Number] = opDone{op: o.Number, attempts: o.Attempts, outcome: *o.Outcome}
		case o.Attempts > 0:
			k.attempts[o.Number] = journal.Entry{Kind: journal.Attempt, Op: o.Op, Attempts: o.Attempts, Error: o.LastError, NextAt: o.NextAt}
		}
	}
	for _, en := range b.entries {
		if !b.durable {
			k.outcomes[en.Op.Number] = opDone{op: en.Op.Number, attempts: en.Attempts, outcome: abi.Outcome{Value: en.Value, Error: en.Error}}
		}
	}
}

// giveBack hands what was kept to the ledger, as far as the journal has not got it.
func (k *kept) giveBack(l *ledger) {
	for number, m := range k.outcomes {
		l.complete(number, m.outcome, m.attempts)
	}
	for number, en := range k.attempts {
		o := l.pending[number]
		if o == nil || o.Settled() || o.Attempts >= en.Attempts {
			continue
		}
		o.Attempts, o.LastError, o.NextAt = en.Attempts, en.Error, en.NextAt
		l.attempts = append(l.attempts, en)
	}
	k.clear()
}
