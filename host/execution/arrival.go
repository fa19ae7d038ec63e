package execution

import (
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// receiveMessage takes in a message that the run is told of.
func (r *run) receiveMessage(m messageArrived) {
	releaseArrival(m)
	known := r.mail.covers(m)
	if !known && m.message.Position == 0 {
		r.reload(ledger.Batch{})
		if m.reply != nil {
			r.hand.requeue(ofChain{r.chain, lookForMail{m.reply}})
		}
		return
	}
	if !known {
		r.row.Arrivals++
		r.wakened()
	}
	switch {
	case m.message.Kind.Stops():
		if !known && !r.row.State.Final() && !r.mail.heeded[m.message.Position] {
			if err := r.heedArrived(&m.message); err != nil {
				r.rollBack(ledger.Batch{}, err) // it meets the corruption when it is loaded
			}
		}
		r.replyAtEnd(m.reply)
	case known || r.row.State.Final():
	case m.message.Kind == journal.SettleMessage:
		r.mail.deferreds.add(&m.message)
		r.ledger.With(func(l *ledger.Ledger) { l.Ops().Settled(m.message.Name) })
	default:
		r.mail.received.Add(m.message)
		r.ledger.With(func(l *ledger.Ledger) { l.Arrived(m.message.Envelope) })
	}
}

// heedArrived heeds a request that has just arrived; its value may have stayed in the store.
func (r *run) heedArrived(m *journal.Message) error {
	if len(m.Value) == m.Bytes {
		return r.heed(m)
	}
	_, err := r.heedAll([]journal.Envelope{m.Envelope})
	return err
}

// missed tells whether a message that is not for the run may be for one which has taken its place, unknown to this one.
func (r *run) missed(m notice) bool {
	arrived, is := content(m).(messageArrived)
	return is && !r.mail.covers(arrived)
}
