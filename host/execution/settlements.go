package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Bounds of what one execution may be settled with. The list of it is in memory with
// the run; the values stay in the store, and are read with each load of the run as far
// as their lengths go.
const (
	maxSettled      = 10_000
	maxSettledBytes = 256 << 20
	// maxInHand bounds the values that a run has in memory because it was just told them.
	maxInHand = 64 << 10
)

// settlements are what a run knows of its settled deferreds: that they are, and not with
// what. A workflow may be sent many large values before it asks for the first.
//
// Invariant: a value is in memory only from when it is put into the batch of a turn,
// which is bounded in bytes, until the turn is over. Those that were just settled are
// mostly asked for at once: of them a little is in hand while notices are handled, so
// that the store need not be asked.
type settlements struct {
	inbox   journal.Receiver
	settled map[string]journal.Settlement
	bytes   int

	inHand      map[string]journal.Deferred
	inHandBytes int
}

func newSettlements() settlements {
	return settlements{settled: map[string]journal.Settlement{}, inHand: map[string]journal.Deferred{}}
}

// set forgets all that was known, and takes what the store has of a run.
func (s *settlements) set(inbox journal.Receiver, settled []journal.Settlement) {
	s.letGo()
	clear(s.settled)
	s.inbox, s.bytes = inbox, 0
	for _, d := range settled {
		s.settled[d.Name] = d
		s.bytes += d.Bytes
	}
}

// add takes a settlement that is durable, as the message at a position.
func (s *settlements) add(d journal.Deferred, position uint64) {
	settled := d.SettledAt(position)
	s.settled[d.Name] = settled
	s.bytes += settled.Bytes
	if s.inHandBytes+settled.Bytes <= maxInHand {
		s.inHand[d.Name] = d
		s.inHandBytes += settled.Bytes
	}
}

// check tells whether a settlement is known: it was repeated. One that is not may be refused,
// because of another or because of the execution's row.
func (s *settlements) check(d journal.Deferred, row *journal.Execution) (known bool, err error) {
	if first, ok := s.settled[d.Name]; ok {
		if first.Origin == d.Origin {
			return true, nil
		}
		return false, settledBefore(d.Name, row)
	}
	if row.State.Final() {
		return false, alreadyOver(row)
	}
	return false, s.full(d, row.Name())
}

// full refuses a settlement that there is no room for.
func (s *settlements) full(d journal.Deferred, execution string) error {
	if len(s.settled) < maxSettled && s.bytes+d.SettledAt(0).Bytes <= maxSettledBytes {
		return nil
	}
	return abi.Errorf(abi.CodeExecutionTooLong, "%s has %d settled deferreds with %d KiB; the limits are %d and %d MiB",
		execution, len(s.settled), s.bytes>>10, maxSettled, maxSettledBytes>>20).
		WithHint("Keep large data in your database or object store and settle with a reference, or let another execution wait for the rest.")
}

// letGo drops what is in hand.
func (s *settlements) letGo() {
	clear(s.inHand)
	s.inHandBytes = 0
}

// fill puts into a batch what its deferreds were settled with.
func (s *settlements) fill(ctx context.Context, store Store, b *batch) error {
	for i := range b.entries {
		en := &b.entries[i]
		if !b.unread[i] || en.Op.Kind != abi.OpDeferred {
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
