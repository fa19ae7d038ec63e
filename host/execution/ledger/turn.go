package ledger

import (
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// applyTurn takes delivered and cancelled ops from the pending ones and adds those just issued. It returns the steps
// that the guest gave up on.
func (l *Ledger) applyTurn(delivered []journal.Entry, turn guest.Turn) (gaveUp []journal.StepID) {
	for _, en := range delivered {
		l.ops.Remove(en.Op.Number)
	}
	for _, o := range turn.Issued {
		l.ops.Add(o)
		l.ops.Change(o.StepID, l.giveHeld)
	}
	for _, number := range turn.Cancelled {
		if o := l.ops.Remove(number); o != nil {
			gaveUp = append(gaveUp, o.StepID)
			switch {
			case o.Message == nil:
			case o.Message.Kind == journal.ResultMessage:
				l.unwanted = append(l.unwanted, o.Message.Position)
			default:
				l.dealAgain(*o.Message)
			}
		}
	}
	return append(gaveUp, l.enterTurn(delivered, turn)...)
}
