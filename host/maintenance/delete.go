package maintenance

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/journal"
)

// Delete deletes a finished run by its id, or a finished execution with all of its earlier runs,
// its messages and its index entries. If the host ends meanwhile, the earlier ones may be gone and
// the newest not; so they may if the execution is started over meanwhile, which is CodeNotOver
// until the new run has ended.
func (m *Maintenance) Delete(ctx context.Context, namespace, name, run string) error {
	if err := m.deps.Host.Accepting(); err != nil {
		return err
	}
	for {
		row, err := m.deps.Observer.PollRun(ctx, namespace, name, run)
		if err != nil {
			return err
		}
		if !row.State.Final() {
			return observe.NotOver(row)
		}
		if run == "" {
			err = m.deleteEarlier(ctx, row)
		} else if row.Superseded == 0 {
			err = m.checkNoEarlier(ctx, row)
		}
		if err != nil {
			return err
		}
		if err := m.deleteRun(ctx, row); !errors.Is(err, journal.ErrNotFound) {
			return err
		}
		// Another caller has deleted it or started it over.
	}
}

// maxRunsLooked bounds the earlier runs that are looked through for the last one of a chain.
const maxRunsLooked = 1000

// deleteEarlier deletes the earlier runs of an execution.
func (m *Maintenance) deleteEarlier(ctx context.Context, newest *journal.Execution) error {
	for {
		earlier, err := m.deps.Store.Earlier(ctx, newest.ID, 0, maxRunsLooked)
		if err != nil {
			return journal.Coded("delete "+newest.Name(), err)
		}
		for i := range earlier {
			if err := m.deleteRun(ctx, &earlier[i]); err != nil && !errors.Is(err, journal.ErrNotFound) {
				return err
			}
		}
		if len(earlier) < maxRunsLooked {
			return nil
		}
	}
}

// checkNoEarlier refuses to delete the newest run alone: the earlier ones would be under a name
// that no one finds.
func (m *Maintenance) checkNoEarlier(ctx context.Context, newest *journal.Execution) error {
	earlier, err := m.deps.Store.Earlier(ctx, newest.ID, 0, 1)
	switch {
	case err != nil:
		return journal.Coded("look for earlier runs", err)
	case len(earlier) > 0:
		return abi.Errorf(
			abi.CodeBadRequest, "this is the newest run of %s, and there are earlier ones", newest.Name(),
		).
			WithHint("Name no run to delete the execution with all of its runs, or delete the earlier runs first.")
	}
	return nil
}

// deleteRun deletes a run. ErrNotFound says that it is gone, or was superseded since it was read.
func (m *Maintenance) deleteRun(ctx context.Context, row *journal.Execution) error {
	m.deps.Fault.Pass(faultpoint.DeleteBeforeCommit)
	if err := m.deps.Writer.Delete(ctx, row); errors.Is(err, journal.ErrNotFound) {
		return err
	} else if err != nil {
		return journal.Coded("delete "+row.Name(), err)
	}
	m.deps.Fault.Pass(faultpoint.DeleteAfterCommit)
	return nil
}
