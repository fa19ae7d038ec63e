package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// settlements are the settled deferreds of a run, without their values. A workflow may be sent many
// large values before it asks for the first.
//
// Invariant: a value is in memory only from when it is put into the batch of a turn, which is
// bounded in bytes, until the turn ends. Deferreds just settled are mostly asked for at once: a few
// of them are in hand while notices are handled, so that the store need not be asked.
type settlements struct {
	inbox   journal.Receiver
	settled map[string]journal.Settlement

	inHand      map[string]journal.Deferred
	inHandBytes int
}

func newSettlements() settlements {
	return settlements{settled: map[string]journal.Settlement{}, inHand: map[string]journal.Deferred{}}
}

// set replaces the settlements with the stored ones of a run.
func (s *settlements) set(inbox journal.Receiver, settled []journal.Settlement) {
	s.letGo()
	clear(s.settled)
	s.inbox = inbox
	for _, d := range settled {
		s.settled[d.Name] = d
	}
}

// add takes a settlement that has just come, with its value unless that stayed in the store.
func (s *settlements) add(m *journal.Message) {
	settled := m.Settlement()
	s.settled[m.Name] = settled
	if len(m.Value) != m.Bytes || s.inHandBytes+settled.Bytes > largevalue.MaxInHand {
		return
	}
	if d, err := journal.DeferredIn(m); err == nil { // a decoding error is met when it is read
		s.inHand[m.Name] = *d
		s.inHandBytes += settled.Bytes
	}
}

// letGo drops the settlements in hand.
func (s *settlements) letGo() {
	clear(s.inHand)
	s.inHandBytes = 0
}

// fill puts the values of its settled deferreds into a batch.
func (s *settlements) fill(ctx context.Context, store Store, b *ledger.Batch) error {
	for i := range b.Entries {
		en := &b.Entries[i]
		if !b.Unread[i] || en.Op.Kind != abi.OpDeferred {
			continue
		}
		d, ok := s.inHand[en.Op.Name]
		if !ok {
			read, err := journal.ReadDeferred(ctx, store, s.inbox, s.settled[en.Op.Name].Position)
			if err != nil {
				return err
			}
			d = *read
		}
		en.Value, en.Error = d.Value, d.Error
	}
	return nil
}
