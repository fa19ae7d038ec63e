package starts

import (
	"context"
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Store is what starters read.
type Store interface {
	Messages(
		ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
	) ([]journal.Message, bool, error)
}

// Workflows starts workflows for entities of a deployment.
type Workflows interface {
	// Start starts a workflow, or finds the execution that has its key already.
	Start(ctx context.Context, namespace, deployment string, call *abi.Call) error
}

// Starter starts workflows.
type Starter struct {
	Commits   *commit.Writer
	Host      *hoststate.State
	Parked    *parked.Log
	Store     Store
	Workflows Workflows
}

// StartAll starts the workflows in an inbox, one after the other, and takes each out once it is started. A start is
// idempotent by its key: a start performed again, after a crash or a commit whose answer was lost, finds the first. A
// workflow that cannot be started now stays, and the others go on; if the host is in trouble, they would fare no
// better. A workflow that cannot be started at all, or not for long, is parked. Misfits counts how often each was
// refused, by position.
func (s *Starter) StartAll(id journal.ID, misfits map[uint64]int) (refused error) {
	for after, more := uint64(0), true; more && !s.Host.Over(); {
		var messages []journal.Message
		var err error
		if messages, more, err = s.Store.Messages(
			s.Host.Context(), journal.Receiver{ID: id}, after, journal.PageLimit{},
		); err != nil {
			return err
		}
		for i := range messages {
			m := &messages[i]
			after = m.Position
			if m.Kind != journal.StartMessage {
				continue
			}
			ref, err := s.start(m)
			switch {
			case err == nil:
				_, err = s.Commits.Committer.Commit(journal.Write{ID: id, Take: []uint64{m.Position}})
			case abi.IsTransient(err):
				return err
			case abi.AsError(err).Code.Info().Retryable && misfits[m.Position]+1 < parked.MaxAttempts:
				misfits[m.Position]++
				refused = err
				continue
			default:
				err = s.park(id, ref, m, abi.AsError(err), misfits[m.Position]+1)
			}
			if err != nil {
				return err
			}
			delete(misfits, m.Position)
		}
	}
	return refused
}

// park parks a workflow that cannot be started.
func (s *Starter) park(id journal.ID, ref target.Ref, m *journal.Message, reason *abi.Error, attempts int) error {
	w := journal.Write{ID: id, Park: []journal.Parked{parked.Of(ref, m.Position, reason, s.Commits.Now(), attempts)}}
	s.Commits.Fault.Pass(faultpoint.EntityBeforeCommit)
	if _, err := s.Commits.Committer.Commit(w); err != nil {
		return err // if it took effect, it is not read again
	}
	s.Commits.Fault.Pass(faultpoint.EntityAfterCommit)
	s.Parked.Add(id, ref, "start "+m.Name, reason)
	return nil
}

// start starts one workflow, for an entity.
func (s *Starter) start(m *journal.Message) (target.Ref, error) {
	p, damaged := abi.DecodeAs[call.Parcel](m.Value)
	if damaged == nil && p.Call == nil {
		damaged = abi.Errorf(abi.CodeInternal, "it names no workflow")
	}
	if damaged != nil {
		return target.Ref{}, abi.Errorf(abi.CodeBadBody, "the message does not decode: %s", damaged.Message)
	}
	ref, err := p.Ref()
	if err == nil {
		err = s.Workflows.Start(s.Host.Context(), ref.Namespace, ref.Deployment(), p.Call)
	}
	if err != nil {
		err = fmt.Errorf("start %s for %s: %w", p.Call.Workflow, ref, err)
	}
	return ref, err
}
