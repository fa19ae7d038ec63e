package execution

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// undisturbed is long enough for all that executions of random lives do by themselves.
const undisturbed = 10 * time.Minute

// verifyProgress leaves all executions alone for a while. Then each has ended, is paused, or waits
// for something that only others bring about. All that is to happen by itself must have been woken
// by timers, by its causes, or by the scans of the host.
func (l *living) verifyProgress() {
	l.pass(undisturbed)
	rows := l.all()
	for i := range rows {
		if why := l.stalled(&rows[i], nil); why != "" {
			l.wrong("%s does not go on by itself: %s\n%s", rows[i].Name(), why, l.f.show(&rows[i]))
		}
	}
}

// stalled says why an execution should have gone on; empty if it could not. Seen are callees that it waits for in turn.
func (l *living) stalled(row *journal.Execution, seen []journal.ID) string {
	if row.State != journal.Running || slices.Contains(seen, row.ID) {
		return ""
	}
	g, turn := l.replay(row)
	if turn.Outcome != nil {
		return "its code has ended"
	}
	pending := g.pending()
	for _, o := range pending {
		if why := l.ready(row, o, append(seen, row.ID)); why != "" {
			return why
		}
	}
	if len(pending) == 0 {
		return "it waits for nothing"
	}
	return ""
}

// ready says why an op should have been delivered; empty if it waits for others.
func (l *living) ready(row *journal.Execution, o *op.Op, seen []journal.ID) string {
	ctx := context.Background()
	switch o.Kind {
	case abi.OpSleep:
		if due := o.IssuedAt + o.Body.(*abi.Sleep).Duration; due <= time.Now().UnixNano() {
			return "its sleep is over"
		}
	case abi.OpDeferred:
		if _, err := journal.FindDeferred(ctx, l.f.store, row.Settlements(), o.Name); err == nil {
			return "deferred " + o.Name + " is settled"
		}
	case abi.OpReceive, abi.OpUpdate:
		inbox, err := l.f.store.Inbox(ctx, row.Receiver(), 0)
		require.NoError(l.f.t, err)
		kind := map[string]journal.MessageKind{
			abi.OpReceive: journal.SignalMessage, abi.OpUpdate: journal.UpdateMessage,
		}[o.Kind]
		for _, e := range inbox {
			if e.Kind == kind && !e.Held && (kind == journal.UpdateMessage || e.Name == o.Name) {
				return "its inbox has a message for " + o.Kind + " " + o.Name
			}
		}
	case abi.OpInterrupted:
		if row.Interrupt != nil {
			return "it was asked to stop"
		}
	case abi.OpCall:
		return l.calleeReady(row, o, seen)
	default:
		return o.Kind + " " + o.Name + " has no outcome"
	}
	return ""
}

func (l *living) calleeReady(row *journal.Execution, o *op.Op, seen []journal.ID) string {
	callee, err := l.f.store.Callee(context.Background(), journal.Caller{ID: row.ID, Run: row.Run, Step: o.StepID})
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return "workflow " + o.Name + " was not started"
	case err != nil:
		return "its callee is gone"
	case callee.State.Final():
		return callee.Name() + " is over"
	default:
		return l.stalled(callee, seen)
	}
}
