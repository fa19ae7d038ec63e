package execution

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// lostAttemptLimit is how many hosts may end during the same attempt of an activity before its execution is paused.
const lostAttemptLimit = 3

// suspectDelay is how long a host has been there when an attempt begins that was lost twice.
const suspectDelay = 5 * time.Second

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

// attemptBegins asks whether an attempt may begin that an earlier host may have begun before.
type attemptBegins struct {
	step  journal.StepID
	reply chan<- bool
}

func (attemptBegins) isNotice() {}

// releaseRequest has a run say in the journal that it gives up the attempts that it has begun.
type releaseRequest struct{ done *sync.WaitGroup }

func (releaseRequest) isNotice() {}

// begin is called when an attempt is about to run, and journals that if it must be. It reports whether the attempt may
// run.
func (t *task) begin(ctx context.Context, announced bool) bool {
	if announced {
		reply := make(chan bool, 1)
		t.post(attemptBegins{t.step, reply})
		select {
		case may := <-reply:
			if !may {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
	t.begun.Store(true)
	return true
}

// inTurn performs an attempt: at once, or alone if it is suspect.
func (t *task) inTurn(ctx context.Context, suspect bool, perform func()) {
	if suspect {
		if t.execs.alone.Acquire(ctx, 1) != nil {
			return
		}
		defer t.execs.alone.Release(1)
		if t.execs.wait(ctx, time.Duration(t.execs.born-t.execs.now())+suspectDelay); ctx.Err() != nil {
			return
		}
	}
	perform()
}

// suspect tells whether an attempt of an op would be one more that was lost twice.
func (x *Executions) suspect(o *op.Op) bool {
	return x.announced(o) && o.LostSoFar() == lostAttemptLimit-1
}

// announced tells whether an attempt of an op is journaled before it begins: an earlier host may have begun one, or the
// journal says that none is under way.
func (x *Executions) announced(o *op.Op) bool {
	return o.Kind == abi.OpActivity && (o.Released || o.MayHaveBegun(x.born))
}

// beginAttempt journals that an attempt is repeated because the one before was lost, or pauses the execution if that
// has happened too often.
func (r *run) beginAttempt(m attemptBegins) {
	var o *op.Op
	r.ledger.with(func(l *ledger.Ledger) { o = l.Ops().Step(m.step) })
	switch {
	case o == nil || o.Settled():
		m.reply <- false
		return
	case !r.execs.announced(o): // it has been journaled before the run was loaded again
		m.reply <- true
		return
	}
	lost := o.LostSoFar()
	if lost >= lostAttemptLimit {
		m.reply <- false
		r.tasks.end(m.step) // if the answer to the pause is lost, it asks again
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
	write.again, write.then = ofRun{r.run, m}, func() bool {
		m.reply <- true
		return committed()
	}
	r.commitOrRetry(write)
}

// noteAttempt has an entry about an attempt committed with the next write.
func (r *run) noteAttempt(o *op.Op, kind journal.EntryKind, lost uint32) {
	r.ledger.with(func(l *ledger.Ledger) { l.NoteAttempt(o, kind, lost, r.execs.now()) })
}

// ReleaseAttempts has every run say in the journal that it gives up the attempts that it has begun, so that they do not
// count as lost. It is for a host that stops.
func (x *Executions) ReleaseAttempts(ctx context.Context) {
	done := &sync.WaitGroup{}
	x.runs.PostAll(func() notice {
		done.Add(1)
		return releaseRequest{done}
	})
	all := make(chan struct{})
	go func() { done.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
	}
}

// dropReleases answers requests to give up attempts at a run that does not know them at the moment.
// They will count as lost.
func dropReleases(notices []notice) []notice {
	return slices.DeleteFunc(notices, func(m notice) bool {
		release, is := m.(releaseRequest)
		if is {
			release.done.Done()
		}
		return is
	})
}

// giveUpAttempts answers a releaseRequest. It tries once: the host is about to stop.
func (r *run) giveUpAttempts(m releaseRequest) {
	defer m.done.Done()
	for _, o := range r.tasks.begunAttempts() {
		r.noteAttempt(o, journal.Released, o.Lost)
	}
	if w := r.attemptsOwed().write; len(w.Entries) > 0 {
		if err := r.commitNow(w); err != nil {
			r.log.Warn("attempts that are given up will count as lost", "error", err)
		}
	}
}
