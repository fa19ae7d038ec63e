package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// makeUpSection writes the section of the run to the row, if the host ended before the commit that
// should have. It reports whether the run goes on.
func (r *run) makeUpSection() bool {
	var section journal.StepID
	var wake int64
	r.ledger.with(func(l *ledger.Ledger) { section, wake = l.RowSection(r.row.Section), l.Ops().WakeAt() })
	if section == r.row.Section {
		return true
	}
	u := journal.Update{State: r.row.State, WakeAt: wake, Waiting: r.waitingNow(), Section: section}
	return r.commit(
		"commit a section",
		journal.Write{ID: r.id, Run: r.row.Run, Chain: r.row.Chain, Update: &u},
		ledger.Batch{},
		func() bool {
			r.applyUpdate(u)
			return true
		},
	)
}

// passRelease tells the injector that the section of a row ends, if it does.
func passRelease(in faultpoint.Injector, row *journal.Execution, point string, after journal.StepID) {
	if row.Section != after && row.Section != (journal.StepID{}) {
		in.Pass(point)
	}
}

// setSection takes over the section of the row. Entities that the section before has locked are
// free.
func (r *run) setSection(section journal.StepID) {
	before := r.row.Section
	r.row.Section = section
	if before != section && before != (journal.StepID{}) {
		r.execs.Fault.Pass(faultpoint.ReleaseAfterCommit)
		r.execs.Entities.Unlocked(journal.Caller{ID: r.id, Run: r.row.Run, Step: before})
	}
}

// lock locks entities for a workflow. Locks acquired before a crash are still held.
func (t *task) lock(ctx context.Context, b *abi.Lock) {
	step := journal.Caller{ID: t.row.ID, Run: t.row.Run, Step: t.step}
	failure, decided := t.execs.retryUntilDecided(ctx, "lock entities", func() error {
		return t.awaits(t.execs.Entities.Lock(ctx, t.row, step, b, t.left))
	})
	if decided && !t.hasLeft {
		t.done(outcomeOf(abi.Nil, failure))
	}
}
