package request

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Signal sends a signal to an execution. It returns once the signal is durable; the workflow receives it when it asks
// for it.
func (s *Sender) Signal(ctx context.Context, ref Ref, signal message.Signal) error {
	return s.toCurrent(ctx, ref, func(row *journal.Execution) error {
		m, err := s.SignalMessage(ctx, row, signal)
		if err != nil {
			return err
		}
		return s.Send(ctx, row, m)
	})
}

// toCurrent sends something to the execution of a reference. If that names no chain it is sent to the run that is
// there, also if that takes the place of the first one meanwhile: such a one has not received it.
func (s *Sender) toCurrent(ctx context.Context, ref Ref, send func(row *journal.Execution) error) error {
	for {
		row, err := s.Rows.Load(ctx, ref)
		if err != nil {
			return err
		}
		if err = send(row); !ref.Chain.IsZero() || abi.CodeOf(err) != abi.CodeExecutionNotFound {
			return err
		}
	}
}

// SignalMessage is a signal on its way to an execution, if that is one of its workflow.
func (s *Sender) SignalMessage(
	ctx context.Context, row *journal.Execution, signal message.Signal,
) (m journal.Message, err error) {
	if signal.Value, err = s.Workflows.CheckSignal(ctx, row, signal.Name, signal.Value); err != nil {
		return m, err
	}
	return signal.Message(s.now(), journal.NewOrigin), nil
}

// Send sends a message that the run looks at when it asks for it. It returns once that is durable.
func (s *Sender) Send(ctx context.Context, row *journal.Execution, m journal.Message) error {
	l := letter{message: m, before: faultpoint.SignalBeforeCommit, after: faultpoint.SignalAfterCommit}
	if m.Kind == journal.UpdateMessage {
		l.before, l.after = faultpoint.UpdateBeforeCommit, faultpoint.UpdateAfterCommit
	}
	l.idle = func(ctx context.Context, row *journal.Execution) (bool, error) {
		if !row.State.Final() {
			return false, nil
		}
		return true, s.cameLate(ctx, row, m)
	}
	return s.send(ctx, row, l)
}

// cameLate answers a message to a finished execution: it is refused, unless it was sent before and
// is repeated. An update in the inbox has no answer.
func (s *Sender) cameLate(ctx context.Context, row *journal.Execution, m journal.Message) error {
	if !m.Repeatable {
		return AlreadyOver(row)
	}
	receipt, err := s.Rows.receipt(ctx, row.ID, m.Origin)
	var inbox []journal.Envelope
	if err == nil && receipt == nil {
		inbox, err = s.Rows.inboxOf(ctx, row.Receiver(), m.Origin)
	}
	if err != nil {
		return journal.Coded("tell "+row.Name(), err)
	}
	switch standing := message.StatusOf(m.Origin, inbox, receipt); {
	case standing == message.Unknown:
		return AlreadyOver(row)
	case standing == message.Accepted && m.Kind == journal.UpdateMessage:
		return message.Unanswered(row)
	}
	return nil
}

// AwaitMessage asks a callee to send its result to a step.
func AwaitMessage(caller *journal.Execution, step journal.StepID, now int64) journal.Message {
	return journal.Message{Envelope: journal.Envelope{
		Kind:   journal.AwaitMessage,
		At:     now,
		Origin: journal.OriginOf(caller.Run, step),
		From:   journal.Caller{ID: caller.ID, Run: caller.Chain, Step: step},
	}}
}
