package guest

import (
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
)

// Continue is the error of a workflow that goes on as a new run.
type Continue struct{ Input []byte }

func (*Continue) Error() string { return "the workflow goes on as a new run" }

// keepUnread takes over the signals that the run before has not looked at.
func (ex *Execution) keepUnread(signals []abi.UnreadSignal) {
	for _, s := range signals {
		q := ex.signalQueue(nil, s.Name)
		q.kept = append(q.kept, s.Value)
	}
}

// unread are the signals that were delivered and that the workflow has not looked at.
func (ex *Execution) unread() []abi.UnreadSignal {
	var all []abi.UnreadSignal
	for _, name := range slices.Sorted(maps.Keys(ex.signals)) {
		for _, value := range ex.KeptSignals(name) {
			all = append(all, abi.UnreadSignal{Name: name, Value: value})
		}
	}
	return all
}

// afterEnd takes a delivery that came together with the one that ended the workflow. A signal
// is kept for the run that takes its place; nothing else matters any more.
func (ex *Execution) afterEnd(d *abi.Delivery) {
	for _, q := range ex.signals {
		if q.pending && q.op == d.Op && d.Error == nil {
			q.pending, q.kept = false, append(q.kept, d.Value)
		}
	}
}
