package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// heedAll heeds requests to stop that are in the inbox. It reports whether the run goes on.
func (r *run) heedAll(stops []journal.Envelope) (bool, error) {
	for _, e := range stops {
		m, err := r.deps.Store.Message(r.deps.Host.Context(), r.row.Receiver(), e.Position)
		if err != nil {
			return false, err
		}
		if err := r.heed(m); err != nil {
			return false, err
		}
		if r.row == nil || r.pendingWrite != nil || r.row.State.Final() {
			return false, nil
		}
	}
	return true, nil
}

// heed obeys a request in the inbox. The first interrupt stands; later ones are taken and
// forgotten.
func (r *run) heed(m *journal.Message) error {
	i, err := request.InterruptIn(m)
	if err != nil {
		return err
	}
	r.mail.heed(m.Position)
	if m.Kind == journal.TerminateMessage {
		r.end(*i)
		return nil
	}
	if r.row.Interrupt == nil {
		r.row.Interrupt = i
		r.ledger.With(func(l *ledger.Ledger) { l.Ops().Interrupted() })
	}
	return nil
}
