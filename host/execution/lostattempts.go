package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// # Lost attempts
//
// The rules of counting: an attempt is lost if it was under way when its host ended without a word:
// it was killed, crashed, or was replaced by another. The next host cannot know whether the attempt
// had to do with that, so it repeats it, and journals first that it does. An attempt after which a
// host was still there, whether it succeeded or failed, ends the count; so does a resume.
//
// The first attempt of an op is not announced in the journal: that would be a commit for each. If it was issued before
// the host that loads it was there, it counts as begun, although it may have been waiting for its turn. From the second
// on each is announced when it has its place and needs nothing but memory to begin: the run that announces it may wait
// for memory itself, or behind others that do, so the attempt must not hold any while it asks.
//
// An attempt that was lost twice waits until its host has been there for a while, and then runs alone: no other one of
// that kind runs at the same time. So a host that ends for other reasons, soon after it began, says nothing about the
// attempt; and each that ends later takes at most one execution to the limit, however many attempts were under way.
//
// A stopping host gives up attempts that do not end in time, and journals that: that is not a loss.
// A long innocent activity that is killed three times with its host is paused too; the reason tells
// the remedy.

// beginAttempt journals that an attempt is repeated because the one before was lost, or pauses the execution if that
// has happened too often.
func (r *run) beginAttempt(m task.Begins) {
	var o *op.Op
	r.ledger.With(func(l *ledger.Ledger) { o = l.Ops().Step(m.Step) })
	switch {
	case o == nil || o.Settled():
		m.Reply <- false
		return
	case !r.deps.tasks.Announced(o): // it has been journaled before the run was loaded again
		m.Reply <- true
		return
	}
	lost := o.LostSoFar()
	if lost >= task.LostLimit {
		m.Reply <- false
		r.tasks.End(m.Step) // if the answer to the pause is lost, it asks again
		r.noteAttempt(o, journal.Released, 0)
		r.pause(ledger.Batch{}, abi.Errorf(abi.CodeHostLost,
			"%d hosts ended during the same attempt of %s: it may take the host down with it", lost, op.Describe(o.Op)))
		return
	}
	r.noteAttempt(o, journal.Lost, lost)
	if lost > 0 {
		r.log.Warn("an attempt that never came back is repeated", "op", op.Describe(o.Op), "lost", lost)
	}
	write := r.attemptsOwed()
	committed := write.then
	write.again, write.then = ofRun{r.run, ofTask{m}}, func() bool {
		m.Reply <- true
		return committed()
	}
	r.commitOrRetry(write)
}

// giveUpAttempts answers a releaseRequest. It tries once: the host is about to stop.
func (r *run) giveUpAttempts(m releaseRequest) {
	defer m.done.Done()
	for _, o := range r.tasks.BegunAttempts() {
		r.noteAttempt(o, journal.Released, o.Lost)
	}
	if w := r.attemptsOwed().write; len(w.Entries) > 0 {
		if err := r.commitNow(w); err != nil {
			r.log.Warn("attempts that are given up will count as lost", "error", err)
		}
	}
}
