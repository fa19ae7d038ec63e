package crustertest

import (
	"github.com/cruster/cruster/abi"
)

// continueAsNew has a new run take the place of this one. Unread signals, unanswered updates,
// published values and a request to stop pass to the new run; callers waiting for the execution
// keep waiting.
func (r *run) continueAsNew(out *abi.Outcome) {
	input, err := r.module.checkRequest(r.workflow, out.Continue.Input)
	if err != nil {
		r.finish(&abi.Outcome{Error: abi.AsError(err)})
		return
	}
	r.outcome = out
	r.endSection()
	r.giveUpAll()
	next := newRun(r.world, r.module, r.id, r.workflow, input)
	next.stop, next.published, next.updates, next.waiters = r.stop, r.published, r.updates.next(), r.waiters
	next.caller, next.givenUp = r.caller, r.givenUp
	next.inbox.signals, next.history.Given = r.unread(), out.Continue.Unread
	before := r.recorded()
	before.Before = nil
	next.history.Run, next.history.Before = r.history.Run+1, append(r.history.Before, before)
	r.waiters = nil
	r.world.after(0, next.start)
	r.close()
}

// recorded is the history of a finished run.
func (r *run) recorded() History {
	h := r.history
	h.Outcome, h.Unread, h.Published = *r.outcome, r.unread(), r.published.clone()
	return h
}
