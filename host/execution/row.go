package execution

import (
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// applyUpdate takes over a durable update of the row.
func (r *run) applyUpdate(u journal.Update) {
	r.row.State, r.row.WakeAt, r.row.FinishedAt = u.State, u.WakeAt, u.FinishedAt
	r.row.Value, r.row.Error = u.Value, u.Error
	r.row.Waiting = u.Waiting
	r.setSection(u.Section)
}

// setSection takes over the section of the row. Entities that the section before has locked are
// free.
func (r *run) setSection(section journal.StepID) {
	before := r.row.Section
	r.row.Section = section
	if before != section && before != (journal.StepID{}) {
		r.deps.Fault.Pass(faultpoint.ReleaseAfterCommit)
		r.deps.Entities.Unlocked(journal.Caller{ID: r.id, Run: r.row.Run, Step: before})
	}
}

// wakened notes changes of the row by a commit of another writer.
func (r *run) wakened() {
	if r.row.State == journal.Running {
		r.row.WakeAt = journal.Now
	}
	r.rowWrites++
}

// rowUpdate is a write that updates a row.
func rowUpdate(row *journal.Execution, u *journal.Update) journal.Write {
	return journal.Write{ID: row.ID, Run: row.Run, Chain: row.Chain, Update: u}
}

// letGoOfInput says that the guest has its input, or that it is not needed yet.
func (r *run) letGoOfInput() {
	r.row = r.row.Brief() // others may look at the row as it was
	r.input.release()
}
