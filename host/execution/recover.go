package execution

import (
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// # The effects of a turn are recovered
//
// A turn has a commit of its own, with its effects: answers, published values, calls that were
// given up, signals that were looked at, a section, the outcome. Its entries are mostly part of
// that commit. They may also be durable before it: a transaction of an activity commits its entry
// alone, and a paused run journals its undelivered outcomes. Several of them may be, one behind the
// other: of activities that run at the same time, while the run is paused, or while its host is
// about to end.
//
// The naive recovery, to perform again the effects of the last turn of the journal, loses the
// effects of the turns before it: an update that was handled is never answered, and the next run of
// a workflow that continues is given it again.
//
// Invariants:
//
//  1. The last commit of turns says in the row, or in its last entry, which entry the guest had seen
//     ([journal.Waiting]). Turns behind that entry have no commit of their own, or caused nothing
//     that is to be written. No other commit moves it past a turn whose own commit is missing.
//  2. A replay collects the effects of all these turns, in order, and performs them again in one
//     commit, before anything else is delivered. A move does the same for the outcome of its trial.
//  3. Performing again changes nothing that was performed: updates that have their answer are not in the
//     inbox any more, values are published in the order of the turns, and callees may be asked to
//     stop again (giveup.go). Ops that were issued and not delivered are pending, and are performed as
//     those of any turn are; a section is made up for (section.go).
//  4. Until that commit is through, the run reports the waiting state of its row (waitingNow): a
//     pause must not hide pending work.

// caused holds the effects of turns without a commit of their own.
type caused struct {
	turns    []guest.Turn     // with the ops that the run performs itself, and no others
	unwanted []journal.StepID // given up
	issued   []journal.StepID // all ops
}

// note takes note of a turn of a replay. Once a turn has a commit, all before it have.
func (c *caused) note(player *replay.Player, turn guest.Turn) {
	if player.HasCommit() {
		*c = caused{}
		return
	}
	if slices.ContainsFunc(turn.Issued, ledger.IsOwn) {
		c.turns = append(c.turns, guest.Turn{
			Issued:    slices.DeleteFunc(slices.Clone(turn.Issued), func(o *op.Op) bool { return !ledger.IsOwn(o) }),
			Cancelled: turn.Cancelled,
		})
	}
	c.unwanted = append(c.unwanted, ledger.UnwantedIn(player)...)
	for _, o := range turn.Issued {
		c.issued = append(c.issued, o.StepID)
	}
}

// recoverTurns performs the effects of turns without a commit of their own, and of the last turn of
// the replay.
func (r *run) recoverTurns(c *caused, last guest.Turn) error {
	did := ledger.Effects{Unwanted: c.unwanted}
	var err error
	for _, turn := range c.turns {
		if err = r.performOn(&did, nil, turn); err != nil {
			return r.replayFailed(err)
		}
	}
	if err = r.settleEarlier(did.Outcomes); err != nil {
		return r.replayFailed(err)
	}
	if last.Outcome == nil && !did.Writes() {
		r.ledger.With(func(l *ledger.Ledger) { l.SettleOwn(did.Outcomes, r.deps.now()) })
		r.life.recovered()
		return nil
	}
	r.commitPerformed(ledger.Batch{}, guest.Turn{Outcome: last.Outcome}, did)
	if r.life.phase == continued {
		return instance.ErrContinued
	}
	if r.row == nil {
		return errors.New("what the last turns caused could not be committed")
	}
	return nil
}

// settleEarlier gives outcomes to ops of the run's own that were issued in turns with a commit.
// They have taken effect, or were refused, and were not delivered.
func (r *run) settleEarlier(others map[journal.StepID]abi.Outcome) error {
	var earlier map[journal.StepID]any
	r.ledger.With(func(l *ledger.Ledger) { earlier = l.OwnBesides(others) })
	for step, body := range earlier {
		var refused *abi.Error
		if b, is := body.(*abi.Publish); is {
			var err error
			if refused, err = r.publish(&ledger.Effects{}, b); err != nil {
				return err
			}
		}
		r.ledger.With(func(l *ledger.Ledger) { l.Complete(step, op.OutcomeOf(abi.Nil, refused), 0, r.deps.now()) })
	}
	return nil
}
