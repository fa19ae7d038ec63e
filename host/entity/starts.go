package entity

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// beginStarts has workflows started that operations have asked for.
func (e *entity) beginStarts() {
	if !e.starts || e.starting || e.startPause.until != 0 {
		return
	}
	e.starting = e.begin(e.working, func() message {
		return startsDone{guarded(func() error { return e.performStarts(e.id) })}
	})
	e.starts = !e.starting
}

// performStarts starts the workflows in an inbox, one after the other, and takes each out
// once it is started. A start is idempotent by its key: one that is performed again, after
// a crash or a commit whose answer was lost, finds the first. One that cannot be started now stays,
// and the others go on; if the host is in trouble, they would fare no better.
func (x *Entities) performStarts(id journal.ID) (refused error) {
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
			if err := x.performStart(m); abi.IsTransient(err) {
				return err
			} else if err != nil {
				refused = err
				continue
			}
			if _, err := x.Committer.Commit(journal.Write{ID: id, Take: []uint64{m.Position}}); err != nil {
				return err
			}
		}
	}
	return refused
}

// performStart starts one workflow. One that cannot be started any more is given up.
func (x *Entities) performStart(m *journal.Message) error {
	p, damaged := abi.DecodeAs[parcel](m.Value)
	if damaged != nil || p.Call == nil {
		x.Logger.Error("a workflow that an entity wanted to be started is not known", "name", m.Name, "error", damaged)
		return nil
	}
	ref, err := p.ref()
	if err == nil {
		err = x.Starts.Start(x.Host.Context(), ref.Namespace, ref.Deployment(), p.Call)
	}
	if err != nil && (abi.IsTransient(err) || abi.AsError(err).Code.Info().Retryable) {
		return fmt.Errorf("start %s for %s: %w", p.Call.Workflow, ref, err)
	}
	if err != nil {
		x.Logger.Error("a workflow that an entity wanted to be started cannot be", "entity", p.Entity, "workflow", p.Call.Workflow, "error", err)
	}
	return nil
}
