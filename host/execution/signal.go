package execution

import (
	"context"
	"errors"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// signalMessage is a signal on its way to an execution, if that is one of its workflow.
func (x *Executions) signalMessage(ctx context.Context, row *journal.Execution, s message.Signal) (m journal.Message, err error) {
	if s.Value, err = x.CheckSignal(ctx, row, s.Name, s.Value); err != nil {
		return m, err
	}
	return s.Message(x.now(), journal.NewOrigin), nil
}

// Signal sends a signal to an execution. It returns once the signal is durable; the
// workflow receives it when it asks for it.
func (x *Executions) Signal(ctx context.Context, ref Ref, s message.Signal) error {
	row, err := x.Load(ctx, ref)
	if err != nil {
		return err
	}
	m, err := x.signalMessage(ctx, row, s)
	if err != nil {
		return err
	}
	return x.send(ctx, row, x.letterOf(m))
}

// cameLate answers a message to a finished execution: it is refused, unless it was sent before and
// is repeated. An update in the inbox has no answer.
func (x *Executions) cameLate(ctx context.Context, row *journal.Execution, m journal.Message) error {
	if !m.Repeatable {
		return alreadyOver(row)
	}
	receipt, err := x.receipt(ctx, row.ID, m.Origin)
	var inbox []journal.Envelope
	if err == nil && receipt == nil {
		inbox, err = x.inboxOf(ctx, row.Receiver(), m.Origin)
	}
	if err != nil {
		return journal.Coded("tell "+row.Name(), err)
	}
	switch standing := message.StatusOf(m.Origin, inbox, receipt); {
	case standing == message.Unknown:
		return alreadyOver(row)
	case standing == message.Accepted && m.Kind == journal.UpdateMessage:
		return message.Unanswered(row)
	}
	return nil
}

// inboxOf returns the messages of one origin in an inbox: others may be many, and repeated requests
// come in storms.
func (x *Executions) inboxOf(ctx context.Context, to journal.Receiver, origin journal.Origin) ([]journal.Envelope, error) {
	found, err := x.Store.FindMessage(ctx, to, origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []journal.Envelope{found.Envelope}, nil
}

// receipt reads the receipt of a message; nil if there is none.
func (x *Executions) receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	receipt, err := x.Store.Receipt(ctx, id, origin)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return receipt, err
}

// take takes in messages that came with the start.
func (r *run) take(messages []journal.Message) {
	for _, m := range messages {
		r.received.Add(m)
		r.locked(func(l *ledger) { l.arrived(m.Envelope) })
	}
}

// fillMessages puts the payloads of its messages into a batch.
func (r *run) fillMessages(ctx context.Context, b *batch) error {
	for i, m := range b.messages {
		if m == nil {
			continue
		}
		whole, ok := r.received.Find(m.Position)
		if !ok {
			read, err := r.execs.Store.Message(ctx, r.row.Receiver(), m.Position)
			if err != nil {
				return err
			}
			whole = *read
		}
		b.messages[i] = &whole
		if err := deliverInto(&b.entries[i], &whole); err != nil {
			return err
		}
	}
	return nil
}

// deliverInto puts the payload of a message into an entry.
func deliverInto(en *journal.Entry, m *journal.Message) error {
	if m.Kind != journal.ResultMessage {
		en.Value = message.Delivery(*m)
		return nil
	}
	var outcome abi.Outcome
	if err := abi.Unmarshal(m.Value, &outcome); err != nil {
		return fmt.Errorf("%w: the result of %s does not decode: %w", journal.ErrCorrupt, m.From.ID, err)
	}
	en.Value, en.Error = outcome.Value, outcome.Error
	return nil
}

// letterOf is a message that the run looks at when it asks for it.
func (x *Executions) letterOf(m journal.Message) letter {
	l := letter{message: m, before: faultpoint.SignalBeforeCommit, after: faultpoint.SignalAfterCommit}
	if m.Kind == journal.UpdateMessage {
		l.before, l.after = faultpoint.UpdateBeforeCommit, faultpoint.UpdateAfterCommit
	}
	l.idle = func(ctx context.Context, row *journal.Execution) (bool, error) {
		if !row.State.Final() {
			return false, nil
		}
		return true, x.cameLate(ctx, row, m)
	}
	return l
}
