package entity

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxSent bounds the messages of one operation.
const maxSent = 1000

// messages checks the sends of an operation, and makes messages of them. A mistake in one is the
// operation's: it fails, and has sent nothing.
func (r *run) messages(o *abi.OperationReply) ([]journal.Sent, error) {
	if n := len(o.Sent) + len(o.Started); n > maxSent {
		return nil, abi.Errorf(abi.CodeTooManyOps, "an operation sent %d messages, the limit is %d", n, maxSent)
	}
	var sent []journal.Sent
	for i := range o.Sent {
		s, err := r.message(&o.Sent[i])
		if err != nil {
			return nil, err
		}
		sent = append(sent, s)
	}
	for i := range o.Started {
		s, err := r.start(&o.Started[i])
		if err != nil {
			return nil, err
		}
		sent = append(sent, s)
	}
	return sent, nil
}

// message is one to another entity, or to the entity itself.
func (r *run) message(m *abi.EntityMessage) (journal.Sent, error) {
	from := r.target.Ref
	to, err := RefFrom(from.Namespace, from.Deployment(), m.Entity)
	if err != nil {
		return journal.Sent{}, err
	}
	t, err := r.entities.target(r.entities.Host.Context(), to)
	if err != nil {
		return journal.Sent{}, err
	}
	_, input, err := t.check(m.Operation, m.Input)
	if err != nil {
		return journal.Sent{}, err
	}
	e := journal.Envelope{Kind: journal.CallMessage, Name: m.Operation, At: r.at, Origin: journal.NewOrigin()}
	return journal.Sent{To: to.ID(), Message: posted(e, journal.Caller{}, parcel{Entity: to.String(), Input: input, Namespace: to.Namespace})}, nil
}

// start is a message of the entity to itself: a workflow is to be started.
func (r *run) start(call *abi.Call) (journal.Sent, error) {
	from := r.target.Ref
	if err := r.entities.Starts.Check(r.entities.Host.Context(), from.Namespace, from.Deployment(), call); err != nil {
		return journal.Sent{}, err
	}
	e := journal.Envelope{Kind: journal.StartMessage, Name: call.Workflow, At: r.at, Origin: journal.NewOrigin()}
	return journal.Sent{To: r.id, Message: posted(e, journal.Caller{}, parcel{Call: call, Entity: from.String(), Namespace: from.Namespace})}, nil
}
