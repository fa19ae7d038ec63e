package guest

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
)

// Continue is the error of a workflow that goes on as a new run.
type Continue struct{ Input []byte }

func (*Continue) Error() string { return "the workflow goes on as a new run" }

// beginWith begins the workflow once the signals are here that the run before was given and has not looked at:
// TryReceive finds them as it would have found them there. A run that looks once and continues would otherwise never
// find any.
func (ex *Execution) beginWith(unread []string, begin func()) *abi.Error {
	for _, name := range unread {
		if !ex.workflow.accepts(name) {
			continue // the code has changed: no one can look at it
		}
		if refused := ex.signalQueue(ex.workflow.Receive, name).ask(); refused != nil {
			return refused
		}
	}
	if len(ex.signals) == 0 {
		begin()
		return nil
	}
	ex.begin = begin
	return nil
}

// beginIfComplete begins the workflow if it waits for no signal of the run before any more.
func (ex *Execution) beginIfComplete() {
	for _, q := range ex.signals {
		if q.pending {
			return
		}
	}
	begin := ex.begin
	ex.begin = nil
	begin()
}

// unread names the signals that were delivered and that the workflow has not looked at.
func (ex *Execution) unread() []string {
	names := slices.Sorted(maps.Keys(ex.signals))
	return slices.DeleteFunc(names, func(name string) bool { return len(ex.KeptSignals(name)) == 0 })
}

// afterEnd takes a delivery that came together with the delivery that ended the workflow. A signal
// is kept for the run that takes its place; all else is dropped.
func (ex *Execution) afterEnd(d *abi.Delivery) {
	for _, q := range ex.signals {
		if q.pending && q.op == d.Op && d.Error == nil {
			q.pending, q.kept = false, append(q.kept, d.Value)
		}
	}
}
