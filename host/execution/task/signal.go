package task

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// signal sends a signal for a workflow. It is named by this step alone, so that a resend after a
// crash is recognized. A full inbox is waited for, unless it is the workflow's own: no one else
// makes room there.
func (t *task) signal(ctx context.Context, b *abi.Signal) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	var full *abi.Error
	failure, decided := t.performer.retryUntilDecided(ctx, "send a signal", func() error {
		ref, err := request.RefOf(t.row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		err = t.performer.Messages.Signal(ctx, ref, message.Signal{
			Name: b.Name, Value: b.Value, Origin: journal.OriginOf(step.Run, step.Step), From: step,
		})
		if ref.ID == t.row.ID && abi.CodeOf(err) == abi.CodeInboxFull {
			full, err = abi.AsError(err), nil
		}
		return err
	})
	if decided {
		t.done(op.OutcomeOf(abi.Nil, cmp.Or(failure, full)))
	}
}
