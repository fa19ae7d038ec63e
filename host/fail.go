package host

import (
	"context"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxReason bounds why an execution is interrupted or failed.
const maxReason = 4096

// Fail ends a paused execution for good. Its guest does not run again, so that
// it works whatever keeps the guest from running. It returns once the failure is
// durable.
func (e *Engine) Fail(ctx context.Context, namespace, execution, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return abi.Errorf(abi.CodeBadRequest, "there is no reason: those who wait for the result are told why it will never be there")
	}
	if err := checkReason(reason); err != nil {
		return err
	}
	reason, at := strings.ToValidUTF8(reason, "\uFFFD"), e.now().UnixNano()
	return e.ask(ctx, namespace, execution, func(reply chan<- error) event { return failMail{reason, at, reply} })
}

func checkReason(reason string) error {
	if len(reason) > maxReason {
		return abi.Errorf(abi.CodeBadRequest, "the reason has %d bytes, the limit is %d", len(reason), maxReason)
	}
	return nil
}

// failPaused makes the end of a paused execution durable and tells everybody.
func (r *run) failPaused(m failMail) error {
	finishedAt := max(m.at, r.row.CreatedAt)
	if r.failedBefore(finishedAt) {
		return nil
	}
	if r.row.State != journal.Paused {
		return r.notPaused()
	}
	failure := abi.Errorf(abi.CodeFailedByOperator, "an operator failed it: %s", m.reason)
	if r.row.Error != nil {
		failure.Message += "; it was paused because of " + r.row.Error.Error()
	}
	clampError(failure)
	u := journal.Update{State: journal.Failed, WakeAt: journal.Never, Error: failure, FinishedAt: finishedAt}
	if _, err := r.eng.commit(journal.Write{ID: r.id, Update: &u}); err != nil {
		return err
	}
	r.applyUpdate(u)
	r.log.Info("failed by an operator", "reason", m.reason)
	r.finish()
	return nil
}

// failedBefore tells whether the row is what this very request made of it: the
// answer to its commit was lost, and it is read a second time.
func (r *run) failedBefore(finishedAt int64) bool {
	failure := r.row.Error
	return failure != nil && failure.Code == abi.CodeFailedByOperator && r.row.FinishedAt == finishedAt
}

// notPaused refuses what is for paused executions alone.
func (r *run) notPaused() error {
	err := abi.Errorf(abi.CodeNotPaused, "%s is %s", r.row.Name(), r.row.State)
	if r.row.State.Final() {
		return err.WithHint("%s", abi.CodeAlreadyOver.Info().Hint)
	}
	return err
}
