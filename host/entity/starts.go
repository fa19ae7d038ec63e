package entity

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// beginStarts has workflows started that operations have asked for.
func (e *entity) beginStarts() {
	if !e.starts || e.starting || e.startPause.until != 0 {
		return
	}
	e.starting = e.begin(e.entities.working, func() message {
		return startsDone{guarded(func() error { return e.entities.performStarts(e.id, e.startMisfits) })}
	})
	e.starts = !e.starting
}

// endStarts has starts that were not performed tried again later.
func (e *entity) endStarts(err error) {
	if err == nil {
		e.startPause = pause{}
		clear(e.startMisfits) // none is left, also if the answer to the commit that parked it was lost
		return
	}
	e.starts = true
	e.setback(&e.startPause, "start workflows", err)
}

// performStarts starts the workflows in an inbox, one after the other, and takes each out once it
// is started. A start is idempotent by its key: a start performed again, after a crash or a commit
// whose answer was lost, finds the first. A workflow that cannot be started now stays, and the
// others go on; if the host is in trouble, they would fare no better. A workflow that cannot be
// started at all, or not for long, is parked. Misfits counts how often each was refused, by
// position.
func (x *Entities) performStarts(id journal.ID, misfits map[uint64]int) (refused error) {
	for after, more := uint64(0), true; more && !x.Host.Over(); {
		var messages []journal.Message
		var err error
		if messages, more, err = x.Store.Messages(x.Host.Context(), journal.Receiver{ID: id}, after, journal.PageLimit{}); err != nil {
			return err
		}
		for i := range messages {
			m := &messages[i]
			after = m.Position
			if m.Kind != journal.StartMessage {
				continue
			}
			ref, err := x.performStart(m)
			switch {
			case err == nil:
				_, err = x.Committer.Commit(journal.Write{ID: id, Take: []uint64{m.Position}})
			case abi.IsTransient(err):
				return err
			case abi.AsError(err).Code.Info().Retryable && misfits[m.Position]+1 < maxMisfits:
				misfits[m.Position]++
				refused = err
				continue
			default:
				err = x.parkStart(id, ref, m, abi.AsError(err), misfits[m.Position]+1)
			}
			if err != nil {
				return err
			}
			delete(misfits, m.Position)
		}
	}
	return refused
}

// parkStart parks a workflow that cannot be started.
func (x *Entities) parkStart(id journal.ID, ref Ref, m *journal.Message, reason *abi.Error, attempts int) error {
	w := journal.Write{ID: id, Park: []journal.Parked{parkedOf(ref, m.Position, reason, x.now(), attempts)}}
	x.Fault.Pass(faultpoint.EntityBeforeCommit)
	if _, err := x.Committer.Commit(w); err != nil {
		return err // if it took effect, it is not read again
	}
	x.Fault.Pass(faultpoint.EntityAfterCommit)
	x.notePark(id, ref, "start "+m.Name, reason)
	return nil
}

// performStart starts one workflow, for an entity.
func (x *Entities) performStart(m *journal.Message) (Ref, error) {
	p, damaged := abi.DecodeAs[parcel](m.Value)
	if damaged == nil && p.Call == nil {
		damaged = abi.Errorf(abi.CodeInternal, "it names no workflow")
	}
	if damaged != nil {
		return Ref{}, abi.Errorf(abi.CodeBadBody, "the message does not decode: %s", damaged.Message)
	}
	ref, err := p.ref()
	if err == nil {
		err = x.Starts.Start(x.Host.Context(), ref.Namespace, ref.Deployment(), p.Call)
	}
	if err != nil {
		err = fmt.Errorf("start %s for %s: %w", p.Call.Workflow, ref, err)
	}
	return ref, err
}
