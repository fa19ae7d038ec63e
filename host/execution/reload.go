package execution

import (
	"errors"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// reload has the run rebuilt from the journal. The outcomes of a batch, and of ops that wait for theirs to be
// delivered, are kept, and so are attempts that failed.
func (r *run) reload(b ledger.Batch) {
	r.ledger.With(func(l *ledger.Ledger) { r.carried.Keep(l, b) })
	r.mail.unheard = true
	r.unload()
	r.hand.requeue(wake{})
}

// unload forgets everything but the tasks of the host and its undelivered results.
func (r *run) unload() {
	r.instance.Drop()
	r.instance.ReleaseOps()
	r.input.release()
	r.row = nil
	r.forgetMail()
	r.published.Forget()
	r.life.unload()
	r.rowWrites++
	r.ledger.With((*ledger.Ledger).Forget)
}

// stopTasks ends all work: the execution needs none any more.
func (r *run) stopTasks() {
	r.tasks.EndAll()
	r.carried.Clear()
	r.instance.ReleaseOps()
	r.ledger.With((*ledger.Ledger).Forget)
}

// rollBack discards all that was not committed, after a commit whose answer was lost or a failure
// that is not the guest's, and has the run rebuilt from the journal. Outcomes in hand are kept:
// whether they must be delivered again, the journal tells.
func (r *run) rollBack(b ledger.Batch, err error) {
	if errors.Is(err, journal.ErrFenced) || r.deps.Host.Over() {
		return
	}
	r.reload(b)
	r.backOff("commit", err)
}

// backOff has the run rest a little after a failure, longer each time. It then retries; the caller
// ensures that there is something to receive.
func (r *run) backOff(doing string, err error) {
	delay := r.failures.backOff()
	r.log.Warn("execution step failed; retrying", "doing", doing, "error", err, "delay", delay)
}

// answer tells the caller of a request its outcome. If the answer to a commit was lost the run no
// longer knows its own row: it is loaded again, and then the request is received again. Each sees
// from the row whether it has been done.
func (r *run) answer(m notice, reply chan<- error, doing string, err error) {
	switch {
	case err == nil:
		r.failures.setbacks = 0
		reply <- nil
	case errors.Is(err, journal.ErrUndecided) && !r.deps.Host.Over():
		r.reload(ledger.Batch{})
		r.backOff(doing, err)
		r.hand.requeue(ofChain{r.chain, m})
	default:
		reply <- journal.Coded(doing, err)
	}
}

// resolveReserved takes in the outcomes of transactions of the run before its journal is loaded. It returns the notices
// that are left.
func (r *run) resolveReserved(notices []notice) (rest []notice) {
	for _, m := range notices {
		if of, is := m.(ofRun); is && of.run == r.run {
			if told, is := of.notice.(ofTask); is && r.tasks.ResolveReserved(told.report) {
				continue
			}
		}
		rest = append(rest, m)
	}
	return rest
}

// beginAnew drops all state of another run of the same name. Its tasks are ended, and their late
// notices are ignored: see ofRun.
func (r *run) beginAnew(run journal.RunID) {
	r.stopTasks()
	r.run = run
	r.life.beginAnew()
	r.instance.BeginAnew()
	r.mail.beginAnew(journal.SettlementsOf(r.id, run))
	r.stuck, r.failures.crashes = nil, 0
	r.published.Forget()
	r.requested, r.behind = false, false
	r.ledger.Replace()
}
