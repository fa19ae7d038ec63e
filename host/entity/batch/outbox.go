package batch

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// MaxSent bounds the messages of one operation.
const MaxSent = 1000

// messages checks the sends of an operation, and makes messages of them. A mistake in one is the
// operation's: it fails, and has sent nothing.
func (r *run) messages(o *abi.OperationReply) ([]journal.Sent, error) {
	if n := len(o.Sent) + len(o.Started); n > MaxSent {
		return nil, abi.Errorf(abi.CodeTooManyOps, "an operation sent %d messages, the limit is %d", n, MaxSent)
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
	to, err := target.RefFrom(from.Namespace, from.Deployment(), m.Entity)
	if err != nil {
		return journal.Sent{}, err
	}
	t, err := r.worker.Targets.Find(r.worker.Host.Context(), to)
	if err != nil {
		return journal.Sent{}, err
	}
	_, input, err := t.Check(m.Operation, m.Input)
	if err != nil {
		return journal.Sent{}, err
	}
	e := journal.Envelope{Kind: journal.CallMessage, Name: m.Operation, At: r.at, Origin: journal.NewOrigin()}
	return journal.Sent{
		To: to.ID(),
		Message: call.Posted(e, journal.Caller{}, call.Parcel{
			Entity: to.String(), Input: input, Namespace: to.Namespace,
		}),
	}, nil
}

// start is a message of the entity to itself: a workflow is to be started.
func (r *run) start(workflow *abi.Call) (journal.Sent, error) {
	from := r.target.Ref
	if err := r.worker.Starts.Check(r.worker.Host.Context(), from.Namespace, from.Deployment(), workflow); err != nil {
		return journal.Sent{}, err
	}
	e := journal.Envelope{Kind: journal.StartMessage, Name: workflow.Workflow, At: r.at, Origin: journal.NewOrigin()}
	return journal.Sent{
		To: r.job.ID,
		Message: call.Posted(e, journal.Caller{}, call.Parcel{
			Call: workflow, Entity: from.String(), Namespace: from.Namespace,
		}),
	}, nil
}
