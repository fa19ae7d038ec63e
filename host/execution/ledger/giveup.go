package ledger

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// OwesStop tells whether giving up an op must stop the work it has started. An op that has its
// outcome has nothing in flight.
func OwesStop(o *op.Op) bool {
	call, is := o.Body.(*abi.Call)
	return is && o.Kind == abi.OpCall && PolicyOf(call) != "" && !o.Settled()
}

// PolicyOf returns the stored form of a call's policy: empty, if the callee is left alone.
func PolicyOf(call *abi.Call) string {
	if call.OnCancel == abi.OnCancelAbandon {
		return ""
	}
	return call.OnCancel
}

// GivesUp returns the ops issued before a turn that the turn gives up; everything tells that these
// are all that the run has started. Others have not been performed. Code that a run was moved to
// may have forgotten calls of the code before it: the end of such a run gives up their callees.
func (l *Ledger) GivesUp(turn guest.Turn, moved bool) (steps []journal.StepID, everything bool) {
	if turn.Outcome != nil {
		everything = moved
		for o := range l.ops.All() {
			everything = everything || OwesStop(o)
		}
		return nil, everything
	}
	for _, number := range turn.Cancelled {
		if o := l.ops.Numbered(number); o != nil && OwesStop(o) {
			steps = append(steps, o.StepID)
		}
	}
	return steps, false
}

// GivesUpAny tells whether a turn gives up anything.
func (l *Ledger) GivesUpAny(turn guest.Turn, moved bool) bool {
	steps, everything := l.GivesUp(turn, moved)
	return everything || len(steps) > 0
}

// UnwantedIn are the steps that the last turn of a replay has given up, and that are owed something.
func UnwantedIn(player *replay.Player) (steps []journal.StepID) {
	for _, o := range player.GaveUp() {
		if OwesStop(o) {
			steps = append(steps, o.StepID)
		}
	}
	return steps
}
