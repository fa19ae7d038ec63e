package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// makeUpSection writes the section of the run to the row, if the host ended before the commit that
// should have. It reports whether the run goes on.
func (r *run) makeUpSection() bool {
	var section journal.StepID
	var wake int64
	r.ledger.With(func(l *ledger.Ledger) { section, wake = l.RowSection(r.row.Section), l.Ops().WakeAt() })
	if section == r.row.Section {
		return true
	}
	u := journal.Update{State: r.row.State, WakeAt: wake, Waiting: r.waitingNow(), Section: section}
	return r.commit("commit a section", rowUpdate(r.row, &u), ledger.Batch{}, func() bool {
		r.applyUpdate(u)
		return true
	})
}

// passRelease tells the injector that the section of a row ends, if it does.
func passRelease(in faultpoint.Injector, row *journal.Execution, point string, after journal.StepID) {
	if row.Section != after && row.Section != (journal.StepID{}) {
		in.Pass(point)
	}
}
