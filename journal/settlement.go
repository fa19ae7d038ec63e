package journal

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/cruster/cruster/abi"
)

// # Settlements
//
// A settled deferred is a message ([SettleMessage]) to one run. It is not in the inbox of the run's chain but in one of
// the run's own, [SettlementsOf], where it stays until the run is purged: the run may ask for it late, and more than
// once.
//
//  1. There is one of each name: its origin is derived from the name, so that the store refuses the second one
//     ([Result.Existed]). The settler stands in the envelope, and tells a repeat from another settlement: the
//     step that it is from is the origin of the settlement, of no execution and no run.
//  2. It takes no room from signals and updates, and they take none from it: the settlements of one run have a limit
//     of their own ([MessageKind.Limit]).
//  3. A run that continues another, or supersedes it, has none of its settlements. A fork is started with copies.

// Deferred is a settled promise of a run.
type Deferred struct {
	Name  string
	Value []byte
	Error *abi.Error
	At    int64
	// Origin tells this settlement from all others, so that a repetition after a lost answer is
	// recognised.
	Origin Origin
}

// Settlement says that a deferred of a run is settled, and leaves out the value: it may be large.
type Settlement struct {
	Name string
	At   int64
	// Bytes is how much is left out: of the value, or of the error as it is encoded.
	Bytes  int
	Origin Origin
	// Position is the message's position.
	Position uint64
}

// SettlementsOf is the inbox of the settled deferreds of a run. Its chain is the run with its halves exchanged.
func SettlementsOf(id ID, run RunID) Receiver {
	return Receiver{id, RunID(slices.Concat(run[len(run)/2:], run[:len(run)/2]))}
}

// Settlements is the inbox of the settled deferreds of the run.
func (e *Execution) Settlements() Receiver { return SettlementsOf(e.ID, e.Run) }

// The value of a settlement is one of these and a value or an error behind it.
const (
	resolved byte = 0
	rejected byte = 1
)

// OriginOfDeferred returns the origin of the message that settles the deferred of a name.
func OriginOfDeferred(name string) Origin {
	h := sha256.New()
	h.Write([]byte("cruster deferred"))
	h.Write([]byte(name))
	return Origin(h.Sum(nil)[:16])
}

// Message returns the message that settles the deferred.
func (d *Deferred) Message() *Message {
	value := append([]byte{resolved}, d.Value...)
	if d.Error != nil {
		value = append([]byte{rejected}, abi.MustMarshal(d.Error)...)
	}
	return &Message{Envelope: Envelope{
		Kind:   SettleMessage,
		Name:   d.Name,
		At:     d.At,
		Bytes:  len(value),
		Origin: OriginOfDeferred(d.Name),
		From:   Caller{Step: StepID(d.Origin)},
	}, Value: value}
}

// SettleTo sends a settlement of another run to a run that starts in the same commit.
func (m Message) SettleTo(start *Execution) Sent {
	to := start.Settlements()
	m.Position = 0
	return Sent{To: to.ID, Chain: to.Chain, Message: m}
}

// DeferredIn decodes the settlement in a message.
func DeferredIn(m *Message) (*Deferred, error) {
	corrupt := func(why error) error {
		return fmt.Errorf("%w: the settlement of deferred %q does not decode: %w", ErrCorrupt, m.Name, why)
	}
	if m.Kind != SettleMessage || len(m.Value) == 0 {
		return nil, corrupt(fmt.Errorf("a message of kind %q with %d bytes", m.Kind, len(m.Value)))
	}
	d := &Deferred{Name: m.Name, At: m.At, Origin: Origin(m.From.Step)}
	with := m.Value[1:]
	switch how := m.Value[0]; how {
	case resolved:
		if len(with) > 0 {
			d.Value = with
		}
	case rejected:
		d.Error = new(abi.Error)
		if err := abi.Unmarshal(with, d.Error); err != nil {
			return nil, corrupt(err)
		}
	default:
		return nil, corrupt(fmt.Errorf("its outcome is %d", how))
	}
	return d, nil
}

// SettlementReader reads the parts of inboxes that settlements need: see [InboxReader].
type SettlementReader interface {
	Inbox(ctx context.Context, to Receiver, after uint64) ([]Envelope, error)
	Message(ctx context.Context, to Receiver, position uint64) (*Message, error)
	FindMessage(ctx context.Context, to Receiver, origin Origin) (*FoundMessage, error)
}

// ListSettlements lists the settled deferreds of a run, by name.
func ListSettlements(ctx context.Context, store SettlementReader, of Receiver) ([]Settlement, error) {
	inbox, err := store.Inbox(ctx, of, 0)
	if err != nil {
		return nil, err
	}
	list := make([]Settlement, len(inbox))
	for i := range inbox {
		list[i] = inbox[i].Settlement()
	}
	slices.SortFunc(list, func(a, b Settlement) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Settlement decodes a message of [SettleMessage].
func (e *Envelope) Settlement() Settlement {
	return Settlement{
		Name: e.Name, At: e.At, Bytes: max(0, e.Bytes-1), Origin: Origin(e.From.Step), Position: e.Position,
	}
}

// ReadDeferred reads a listed deferred; ErrNotFound if it is gone.
func ReadDeferred(ctx context.Context, store SettlementReader, of Receiver, position uint64) (*Deferred, error) {
	m, err := store.Message(ctx, of, position)
	if err != nil {
		return nil, err
	}
	return DeferredIn(m)
}

// FindDeferred reads one by its name; ErrNotFound if it is not settled.
func FindDeferred(ctx context.Context, store SettlementReader, of Receiver, name string) (*Deferred, error) {
	s, err := FindSettlement(ctx, store, of, name)
	if err != nil {
		return nil, err
	}
	return ReadDeferred(ctx, store, of, s.Position)
}

// FindSettlement finds a settled deferred by its name, without its value; ErrNotFound if it is not settled.
func FindSettlement(ctx context.Context, store SettlementReader, of Receiver, name string) (*Settlement, error) {
	found, err := store.FindMessage(ctx, of, OriginOfDeferred(name))
	if err != nil {
		return nil, err
	}
	s := found.Settlement()
	return &s, nil
}
