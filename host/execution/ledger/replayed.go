package ledger

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// ReadTo takes over the position that a replay has read the journal to.
func (l *Ledger) ReadTo(at replay.Position) {
	l.seq, l.turn = max(l.seq, at.Seq), max(l.turn, at.Turn)
	l.delivered = at.Seq
	l.Tick(at.At)
}

// Replayed takes over the ops and the section that a replay came to.
func (l *Ledger) Replayed(p *replay.Player) {
	l.setPending(p.Pending())
	l.hold(p.Held(), p.Attempts())
	l.enterReplayed(p.Section())
}

// setPending replaces the ops that are pending.
func (l *Ledger) setPending(pending map[uint32]*op.Op) {
	l.ops = op.NewSet()
	for _, o := range pending {
		l.ops.Add(o)
	}
}

// hold takes the outcomes of steps that the code which the execution was moved from had come to,
// and this one has not: they are known already when it does. It takes the known attempts as well.
func (l *Ledger) hold(held, attempts map[journal.StepID]journal.Entry) {
	l.held, l.heldAttempts = held, attempts
	for _, step := range l.ops.Steps() {
		l.ops.Change(step, l.giveHeld)
	}
}

func (l *Ledger) giveHeld(o *op.Op) {
	if en, ok := l.heldAttempts[o.StepID]; ok {
		o.Note(en)
		delete(l.heldAttempts, o.StepID)
	}
	if en, ok := l.held[o.StepID]; ok {
		o.Settle(abi.Outcome{Value: en.Value, Error: en.Error}, en.Attempts, en.At)
		delete(l.held, o.StepID)
	} else if o.Kind == abi.OpPatched && replay.HaveRun(l.held) {
		// Steps that come later have run: the execution had passed this place.
		o.Settle(abi.Outcome{Value: abi.MustMarshal(false)}, 0, o.IssuedAt)
	}
}

// MoveBehind assigns the number and the time of the entry of a move to other code, behind the end
// of its trial.
func (l *Ledger) MoveBehind(end replay.Position, now int64) (seq uint64, at int64) {
	l.seq = max(l.seq, end.Seq) + 1
	return l.seq, l.Tick(max(now, end.At))
}

// AtRest returns the section of the run and copies of its pending ops, if these and the position
// are all its state. Otherwise there are outcomes that are not journaled, reserved numbers, or
// steps held after a move.
func (l *Ledger) AtRest() (section op.Section, pending []op.Op, atRest bool) {
	if len(l.reserved)+len(l.committed)+len(l.attempts)+len(l.held)+len(l.heldAttempts) > 0 {
		return op.Section{}, nil, false
	}
	pending = make([]op.Op, 0, l.ops.Len())
	for o := range l.ops.All() {
		if o.Settled() {
			return op.Section{}, nil, false
		}
		pending = append(pending, *o)
	}
	return l.section, pending, true
}
