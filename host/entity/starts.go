package entity

import (
	"errors"
	"fmt"
	"strings"

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
// a crash or a commit whose answer was lost, finds the first.
func (x *Entities) performStarts(id journal.ID) error {
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
			if err := x.performStart(m); err != nil {
				return err
			}
			if _, err := x.Committer.Commit(journal.Write{ID: id, Take: []uint64{m.Position}}); err != nil {
				return err
			}
		}
	}
	return nil
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
	if err != nil && !lasts(err) {
		return fmt.Errorf("start %s for %s: %w", p.Call.Workflow, ref, err)
	}
	if err != nil {
		x.Logger.Error("a workflow that an entity wanted to be started cannot be", "entity", p.Entity, "workflow", p.Call.Workflow, "error", err)
	}
	return nil
}

// lasts tells whether a failure looks as if trying again would not help: it says what is
// wrong, and that is neither the host nor its store.
func lasts(err error) bool {
	var coded *abi.Error
	return errors.As(err, &coded) && !strings.HasPrefix(string(coded.Code), "CR-5")
}
