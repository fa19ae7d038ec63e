package execution

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/recode"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// move replays the journal on the other module and, if it fits, makes the move durable and has the
// run rebuilt there. Tasks of the host go on, and so do outcomes in hand: they go by step.
func (r *run) move(m moveRequest) error {
	defer r.ledger.With((*ledger.Ledger).Thaw) // see postponeMove
	switch {
	case r.row.State.Final():
		return request.AlreadyOver(r.row)
	case r.row.Digest == m.digest && r.row.State == journal.Running:
		return nil
	case r.row.Digest == m.digest:
		return abi.Errorf(abi.CodeBadRequest, "%s is pinned to this module already", r.row.Name()).
			WithHint("Resume it with 'cruster-host workflow resume', or move it to another module.")
	}
	target := *r.row
	target.Digest, target.Waiting = m.digest, r.waitsFor()
	r.instance.Drop() // two instances at once could wait for each other's memory
	unanswered := sharedledger.Look(r.ledger, (*ledger.Ledger).Unanswered)
	ctx, end := r.cancelable()
	defer end()
	trial, err := r.deps.recoder.TryMove(ctx, &target, unanswered)
	if err != nil {
		return err
	}
	if trial.Misfit == nil {
		trial.Misfit = r.underWay(trial)
	}
	if trial.Misfit != nil {
		return trial.Misfit.For(r.row.Name())
	}
	did, err := r.deps.recoder.Effects(r.deps.Host.Context(), &target, trial)
	if err != nil {
		return err
	}
	return r.commitMove(m.digest, trial, did)
}

// postponeMove has a move received again once no number is reserved and no outcome is in hand: both
// may become entries that the trial would not see. If there are none it keeps transactions of
// activities from taking a place in the journal until the move is through; others are rolled back
// and run again. It reports whether the move must wait.
func (r *run) postponeMove(m moveRequest) bool {
	var reserved, inHand bool
	r.ledger.With(func(l *ledger.Ledger) { reserved, inHand = l.Freeze() })
	if !reserved && !inHand {
		return false
	}
	if reserved {
		r.reload(ledger.Batch{})
	}
	r.hand.requeue(ofChain{r.chain, m})
	return true
}

// waitsFor returns the waiting state of the run, with all steps by name.
func (r *run) waitsFor() journal.Waiting {
	w := r.waitingNow()
	if r.life.begun() {
		r.ledger.With(func(l *ledger.Ledger) { w.List = l.Ops().Steps() })
	}
	return w
}

// underWay finds an activity that is being performed and that the other code does not wait for. It may have taken
// effect; nothing tells.
func (r *run) underWay(trial recode.Trial) (misfit *replay.Misfit) {
	r.ledger.With(func(l *ledger.Ledger) {
		for step := range r.tasks.Steps() {
			o := l.Ops().Step(step)
			if o != nil && o.Kind == abi.OpActivity && !slices.Contains(trial.Waiting, step) {
				misfit = &replay.Misfit{
					Reason: "activity \"" + o.Name +
						"\" is being performed at this moment, and the code does not wait for it",
				}
			}
		}
	})
	return misfit
}

func (r *run) commitMove(digest string, trial recode.Trial, did ledger.Effects) error {
	moved := journal.Entry{
		Kind: journal.Moved,
		Value: abi.MustMarshal(&journal.Move{
			From: r.row.Digest, To: digest, Waited: trial.WaitedBefore, Declined: trial.Declined,
		}),
	}
	r.ledger.With(func(l *ledger.Ledger) { moved.Seq, moved.At = l.MoveBehind(trial.End, r.deps.now()) })
	u := journal.Update{
		State: journal.Running, WakeAt: journal.Now, Digest: digest, MovedAt: moved.Seq,
		Waiting: journal.WaitingFor(moved.Seq, trial.Waiting), Section: r.row.Section,
	}
	w := rowUpdate(r.row, &u)
	w.Entries = []journal.Entry{moved}
	did.WriteTo(&w, r.deps.now())
	stops, err := r.callees().stopSteps(did.Unwanted)
	if err != nil {
		return err
	}
	w.Send = append(w.Send, stops...)
	r.deps.Fault.Pass(faultpoint.MoveBeforeCommit)
	if err := r.commitSends(w); err != nil {
		return err
	}
	r.deps.Fault.Pass(faultpoint.MoveAfterCommit)
	r.log.Info("moved", "from", r.row.Digest, "to", digest)
	r.reload(ledger.Batch{})
	r.failures.crashes = 0
	return nil
}
