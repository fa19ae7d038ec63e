package execution

import (
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/journal"
)

// hibernate returns the state of an idle run to save besides its guest; nil if that is not worth
// it, or if the run is in the middle of something: outcomes that are not journaled, numbers that
// are reserved, steps that are held after a move. The caller has the run to itself.
func (r *run) hibernate(worth func(seq, saved uint64) bool) *rebuild.Saving {
	if !r.instance.Warm() || r.row == nil || !r.life.begun() || r.pendingWrite != nil ||
		r.row.State != journal.Running {
		return nil
	}
	return rebuild.SavingOf(r.row, r.instance, r.ledger, worth)
}
