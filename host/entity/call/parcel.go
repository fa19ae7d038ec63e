package call

import (
	"context"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Parcel is the value of a message in the inbox of an entity. It names the receiver: the inbox knows it by its id
// alone. The fields are in the order of their names.
type Parcel struct {
	// Awaited says that a caller is told the outcome.
	Awaited bool `msgpack:"awaited,omitempty"`
	// Call is the workflow to be started, of a message of kind start.
	Call *abi.Call `msgpack:"call"`
	// Entity is "deployment/Name/id".
	Entity string `msgpack:"entity"`
	// Input of the operation, of a message of kind call.
	Input     []byte `msgpack:"input"`
	Namespace string `msgpack:"namespace"`
	// ReplyTo is the chain of runs of the workflow that is sent the answer: see host/entity/request/leave.go; nil if
	// none is.
	ReplyTo *journal.RunID `msgpack:"reply_to,omitempty"`
}

// Ref is the receiver.
func (p *Parcel) Ref() (target.Ref, error) { return target.RefOf(p.Namespace, p.Entity) }

// Posted makes a message of a parcel.
func Posted(e journal.Envelope, from journal.Caller, p Parcel) journal.Message {
	value := abi.MustMarshal(&p)
	e.Bytes, e.From = len(value), from
	return journal.Message{Envelope: e, Value: value}
}

// Of makes a call of a message. A message that does not decode becomes a call that fails.
func Of(ctx context.Context, targets target.Finder, m *journal.Message) (*Call, error) {
	p, damaged := abi.DecodeAs[Parcel](m.Value)
	if damaged == nil && m.Kind != journal.CallMessage && m.Kind != journal.LockMessage {
		damaged = abi.Errorf(abi.CodeInternal, "a message of kind %q is not for entities", m.Kind)
	}
	c := &Call{Operation: m.Name, Mailbox: DefaultMailbox, Concurrency: DefaultConcurrency, Damaged: damaged}
	if damaged == nil {
		var err error
		if c, err = p.call(ctx, targets, m); err != nil {
			return nil, err
		}
	}
	c.From, c.Message, c.Position = m.From, m.Origin, m.Position
	c.Sent = damaged != nil || !p.Awaited
	if p != nil {
		c.ReplyTo = p.ReplyTo
	}
	if m.Repeatable {
		c.Origin = m.Origin
	}
	return c, nil
}

// call makes a call of a parcel that decodes.
func (p *Parcel) call(ctx context.Context, targets target.Finder, m *journal.Message) (*Call, error) {
	c := &Call{Operation: m.Name, Mailbox: DefaultMailbox, Concurrency: DefaultConcurrency}
	ref, err := p.Ref()
	if err != nil {
		c.Damaged = abi.AsError(err)
		return c, nil
	}
	t, err := targets.Find(ctx, ref)
	switch {
	case abi.IsTransient(err):
		return nil, fmt.Errorf("find the code of %s: %w", ref, err)
	case err != nil:
		c.Ref = ref // its batch looks for the code again
	default:
		c = To(t, &abi.OperationInfo{Name: m.Name, Persisted: true})
	}
	if m.Kind == journal.LockMessage {
		c.Kind = Lock
	}
	c.Input = p.Input
	return c, nil
}
