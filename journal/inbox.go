package journal

import (
	"context"

	"github.com/cruster/cruster/abi"
)

// # The inbox
//
// Messages of others (signals, updates, requests to stop, calls of entities, results of callees) reach their
// receiver, an execution or an entity, through a row in the receiver's inbox.
//
// Invariants:
//
//  1. A message is in the inbox, or its effects are durable: the receiver's owner takes
//     it in the same commit. So it is worked on once, whenever the host ends. A message that was
//     delivered and is not done with stays, and is held: an update until it is answered, a
//     signal until the workflow has looked at it.
//  2. Putting a message there needs neither the receiver's instance nor its owner, and
//     decides nothing. The receiver decides, when it takes the message.
//  3. Messages of one sender are in the order in which they were sent: each is handed over
//     when the one before it is durable.
//  4. A message that its sender may repeat leaves a receipt when it is taken. While there
//     is a message or a receipt of an origin, another one of that origin takes no effect.
//  5. An inbox is bounded, in messages and in bytes; a full one refuses. Messages of
//     steps and entities were accepted from them before, and may overfill it, up to a
//     second bound, at which it refuses them as well.
//  6. A message of an entity that cannot be performed is parked, and not in the inbox any more:
//     see parked.go.
//
// The position of a message is the store's. It orders messages, and nothing more: on a store with
// several writers a message may appear in front of an already seen one, so that messages are taken
// one by one, by position, and never "all up to here".
//
// A callee sends its result to its caller in the commit by which it ends, so that a caller that
// waits need not be in memory. Its receiver is in another shard, and may have ended: then the
// result is garbage, which is purged with its receiver, or for itself if that is gone. A result is
// not refused, however full the inbox of the caller is: the end of the callee does not depend on it.
// An entity sends the answer to a step in the same way, if the run of the step has left memory.
//
// # Requests to stop
//
// An interrupt asks an execution to stop, a terminate ends it. They come from callers outside, from
// other workflows, and from the run that has called the execution and does not wait for it any
// more: it gives the call up, in the commit of the turn that does, or of its own end.
//
//  1. A run that gives up sends the requests in that commit, or neither is durable. By then no start by a
//     step that it gives up is under way, so it finds all that there is to be stopped: see
//     host/execution/giveup.go.
//  2. In one inbox there is one request of each kind at most: [OriginToStop]. A second one is the first.
//  3. The receiver's owner takes it in the commit of its outcome: the row then has the interrupt
//     ([Update.Interrupt]), or has ended. The first interrupt stands, whatever else asks.
//  4. They overtake nothing of the same sender: a run that ends sends the requests in front of its result.
//  5. A request whose receiver has ended by then is garbage, as a result is.
//
// Settlements have an inbox of their own: see settlement.go.

// MessageKind is the subject of a message.
type MessageKind string

const (
	// SignalMessage is a value for a workflow that asks for it by name.
	SignalMessage MessageKind = "signal"
	// UpdateMessage is a request to a workflow that is answered.
	UpdateMessage MessageKind = "update"
	// CallMessage is a call of an operation of an entity.
	CallMessage MessageKind = "call"
	// StartMessage is a workflow that an entity wants to have started. The entity sends it to itself.
	StartMessage MessageKind = "start"
	// LockMessage asks an entity to be locked by the step that it is from.
	LockMessage MessageKind = "lock"
	// ResultMessage is the result of an execution, or the answer of an entity, for a step that has
	// called it. Its origin is the step's ([OriginOf]). It is from the callee, for the step of the
	// caller; an entity has no run.
	ResultMessage MessageKind = "result"
	// AwaitMessage asks an execution to send its result to a step that has found it, and has not started it. It has the
	// origin that the result will have, and is from the step, for whose run stands the first of its chain: the result
	// goes to the inbox of that.
	AwaitMessage MessageKind = "await"
	// SettleMessage settles a deferred of a run: see [SettlementsOf].
	SettleMessage MessageKind = "settle"
	// InterruptMessage asks an execution to stop: its value is an [Interrupt].
	InterruptMessage MessageKind = "interrupt"
	// TerminateMessage ends an execution, whatever it does: its value is an [Interrupt].
	TerminateMessage MessageKind = "terminate"
)

// Bounded reports whether a full inbox refuses such a message. It does not refuse messages that an
// execution waits for, or by which it will be told: the callee could not end, or the caller could
// not leave memory.
func (k MessageKind) Bounded() bool {
	return k != ResultMessage && k != AwaitMessage && k != LockMessage && k != SettleMessage && !k.Stops()
}

// Stops tells whether such a message asks an execution to stop.
func (k MessageKind) Stops() bool { return k == InterruptMessage || k == TerminateMessage }

// Bounds of an inbox.
const (
	MaxInbox      = abi.MaxInbox
	MaxInboxBytes = 64 << 20
	// The bounds for messages sent by Writes of others.
	MaxSentInbox      = 2 * MaxInbox
	MaxSentInboxBytes = 2 * MaxInboxBytes
)

// Bounds of the settlements of one run. Only a list without the values is read with the run.
const (
	MaxSettled      = 10_000
	MaxSettledBytes = 256 << 20
)

// InboxLimit is how much an inbox may hold.
type InboxLimit struct{ Messages, Bytes int64 }

// Limit is the bound of an inbox after it has received such a message, if there is one.
func (k MessageKind) Limit() (limit InboxLimit, bounded bool) {
	if k == SettleMessage {
		return InboxLimit{MaxSettled, MaxSettledBytes}, true
	}
	return InboxLimit{MaxInbox, MaxInboxBytes}, k.Bounded()
}

// Exceeded tells whether there is no room for so many bytes more.
func (l InboxLimit) Exceeded(messages, bytes int64, more int) bool {
	return messages >= l.Messages || bytes+int64(more) > l.Bytes
}

// Receiver names an inbox: an entity's, or an execution's chain of runs'. A run that supersedes another has an inbox of
// its own; a run that continues another shares it. Settlements of deferreds have another inbox, for each run: see
// [SettlementsOf].
type Receiver struct {
	ID ID
	// Chain is zero for an entity.
	Chain RunID
}

// Message is one in an inbox.
type Message struct {
	Envelope
	// Value is the payload of the message: canonical msgpack, but for a settlement (see
	// settlement.go).
	Value []byte
}

// ResultTo is the message that brings an outcome to a step, as the msgpack of an [abi.Outcome]: see [ResultMessage]. An
// empty one says that there is one, to be read from the row of the callee.
func ResultTo(to Receiver, origin Origin, from Caller, at int64, value []byte) Sent {
	return Sent{To: to.ID, Chain: to.Chain, Message: Message{
		Envelope: Envelope{Kind: ResultMessage, At: at, Bytes: len(value), Origin: origin, From: from}, Value: value,
	}}
}

// Envelope is a message without its payload, which may be large.
type Envelope struct {
	// Position orders the messages of an inbox. The store assigns it; it ascends, and is never used again while the
	// store is open.
	Position uint64
	Kind     MessageKind
	// Name of the signal or of the operation.
	Name string
	// At is when it was sent.
	At int64
	// Bytes is how long the value is.
	Bytes int
	// Origin tells the message from all others of its receiver.
	Origin Origin
	// From is the step that sent it; zero if it came from outside, or from an entity. A
	// settlement's is another thing: see settlement.go.
	From Caller
	// Held says that it was delivered to the run and is still in use: it stays until it is taken.
	// It is delivered again to a run that continues this one.
	Held bool
	// Repeatable says that its sender may send it again, because it did not hear that it was received: the receiver
	// that takes it leaves a receipt.
	Repeatable bool
}

// FoundMessage is a message that was found by its origin.
type FoundMessage struct {
	Envelope
	// Parked is why it is parked; nil if it is not.
	Parked *abi.Error
}

// Receipt records that a message was taken, and its answer.
type Receipt struct {
	Origin Origin
	// From is the step that sent the message, if one did. While its run is not over the receipt is kept: the step may
	// be performed again, however late.
	From Caller
	// At is when it was taken.
	At    int64
	Value []byte
	Error *abi.Error
}

// InboxReader reads inboxes.
type InboxReader interface {
	// Inbox lists the messages of a receiver with a position above after, in order.
	Inbox(ctx context.Context, to Receiver, after uint64) ([]Envelope, error)
	// Messages reads messages with a position above after, in order: a page of them. More tells whether there are
	// others behind them.
	Messages(ctx context.Context, to Receiver, after uint64, limit PageLimit) (messages []Message, more bool, err error)
	// Message reads one; ErrNotFound if it is not there.
	Message(ctx context.Context, to Receiver, position uint64) (*Message, error)
	// FindMessage finds the message of an origin, parked or not, whatever else is in the inbox;
	// ErrNotFound if there is none.
	FindMessage(ctx context.Context, to Receiver, origin Origin) (*FoundMessage, error)
	// Receipt reads the receipt of a message that was taken; ErrNotFound if there is none.
	Receipt(ctx context.Context, id ID, origin Origin) (*Receipt, error)
	// Receipts reads the receipts of several messages in one go, in no order; missing ones are left
	// out.
	Receipts(ctx context.Context, id ID, origins []Origin) ([]Receipt, error)
	// MailReceivers lists, in the order of their ids, the executions with undelivered messages:
	// running ones with results in their inboxes, and running or paused ones with requests to stop
	// there. At most limit, behind the id after. Pass the zero ID at first.
	MailReceivers(ctx context.Context, after ID, limit int) ([]ID, error)
	// Receivers lists, in the order of their ids, the entities that have messages which are not
	// parked: at most limit, behind the id after. Pass the zero ID at first.
	Receivers(ctx context.Context, after ID, limit int) ([]ID, error)
}
