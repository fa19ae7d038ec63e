package launch

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// SignalWithStart sends a signal to an execution, and starts it first if it is not there: then both
// are durable, or neither. A finished execution counts as not there if the start says so.
func (l *Launcher) SignalWithStart(
	ctx context.Context, start StartRequest, signal message.SignalRequest,
) (row *journal.Execution, existed bool, err error) {
	s, err := signal.Signal()
	if err != nil {
		return nil, false, err
	}
	if start.RequestID == "" {
		start.RequestID = signal.RequestID
	}
	if row, err = l.admit(ctx, start); err != nil {
		return nil, false, err
	}
	for {
		row, existed, err = l.deps.Executions.Starter.Launch(ctx, row, start.IfFinished, s)
		if err != nil || !existed {
			return row, existed, err
		}
		if row.Superseded > 0 && start.RequestID == signal.RequestID {
			return row, true, nil // this request has started it, with this signal
		}
		if err = l.signal(ctx, row, *s); abi.CodeOf(err) != abi.CodeExecutionNotFound {
			return row, true, err
		}
		// It was deleted, or started over, since it was found.
		if row, err = l.prepare(ctx, start); err != nil {
			return nil, false, err
		}
	}
}

// signal sends a signal to the run of a row, which others may have superseded: then it is known to have received the
// signal, or is over.
func (l *Launcher) signal(ctx context.Context, row *journal.Execution, s message.Signal) error {
	messages := l.deps.Executions.Messages
	m, err := messages.SignalMessage(ctx, row, s)
	if err != nil {
		return err
	}
	return messages.Send(ctx, row, m)
}
