package execution

import (
	"slices"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// readMail looks into the inbox for results and requests to stop that the run was told of. It reports whether the run
// goes on.
func (r *run) readMail() bool {
	if !r.mail.isDue() {
		return true
	}
	inbox, err := r.deps.Store.Inbox(r.deps.Host.Context(), r.row.Receiver(), 0)
	if err != nil {
		r.backOff("read the inbox", err)
		r.hand.requeue(wake{})
		return false
	}
	var stops []journal.Envelope
	for _, e := range inbox {
		switch {
		case e.Kind.Stops() && !slices.Contains(r.mail.asked, e.Position):
			stops = append(stops, e)
		case e.Kind == journal.ResultMessage:
			r.ledger.With(func(l *ledger.Ledger) { r.mail.readResult(l, e) })
		}
	}
	r.mail.wasRead()
	if r.row.State.Final() {
		return true
	}
	goesOn, err := r.heedAll(stops)
	if err != nil {
		r.rollBack(ledger.Batch{}, err) // it meets the corruption when it is loaded
		return false
	}
	return goesOn
}
