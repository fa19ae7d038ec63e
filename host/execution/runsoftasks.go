package execution

import (
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/journal"
)

// runsOfTasks are the runs, as their tasks know them.
type runsOfTasks struct{ runs *registry }

var _ task.Runs = runsOfTasks{}

// Report implements task.Runs.
func (rs runsOfTasks) Report(to journal.ID, run journal.RunID, r task.Report) {
	rs.runs.Post(to, ofRun{run, ofTask{r}})
}

// DeliverAhead implements task.Runs: see [run.deliverAhead].
func (rs runsOfTasks) DeliverAhead(
	to journal.ID, of journal.RunID, rowWrites uint64, entry journal.Entry, commit func(journal.Write) error,
) (delivered bool, err error) {
	rs.runs.Borrow(to, func(r *run) []notice {
		delivered, err = r.deliverAhead(of, rowWrites, entry, commit)
		return append(r.hand.takeAgain(), wake{}) // so that it looks around, and parks
	})
	return delivered, err
}
