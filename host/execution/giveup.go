package execution

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// # Giving up on children
//
// A run gives up a call when its guest cancels the op, or when the run ends while the op is
// pending. If the call has started the callee, the call's policy says what becomes of it: it is
// asked to stop, it is ended, or nothing. journal/giveup.go has what is true of the rows by
// which that is durable. What is true here:
//
//  1. Nothing is told before the commit of the turn that gave up: a turn that is thrown away has
//     interrupted no one.
//  2. After that commit it is told, whatever becomes of the host. The commit leaves a row; the
//     run has it worked off at once, and a host that starts works off all that it finds. A
//     commit whose answer was lost may have left rows: then they are looked for once the
//     run is loaded.
//  3. No start by a step comes behind the look for what it has started. The task that starts a
//     callee is known before its op can be given up ([starts]), and the look waits for its end;
//     those of hosts before this one are fenced.
//  4. A callee that waits for its caller hears that it was given up before it hears how the caller
//     has ended ([run.heedCaller]). In a circle of more than two, the one that waits for the first is
//     not its callee: whether it fails, or its own caller gives it up before, is a matter of luck.
//  5. All of it may be done twice: an interrupt that is there stands, and who is over is left
//     alone. So rows are dropped after the fact, and that may be lost.
//
// The naive way, to interrupt the callee from the task of its call when that is cancelled, is
// lost with the host; and a journal does not tell which ops were given up, only a replay does.
//
// Only the run knows its pending ops, and one that is paused does not run: so the policy stands
// with the callee ([journal.Pinned]), and the end of a run gives up all that it has started and
// that is not over. Callees that it has found are linked, not started, and go on.

// stops tells whether what an op has started is owed something when the op is given up. One
// that has its outcome has nothing under way.
func stops(o *op.Op) bool {
	call, is := o.Body.(*abi.Call)
	return is && o.Kind == abi.OpCall && policyOf(call) != "" && !o.Settled()
}

// policyOf is what is written of a call's policy: nothing, if nothing becomes of the callee.
func policyOf(call *abi.Call) string {
	if call.OnCancel == abi.OnCancelAbandon {
		return ""
	}
	return call.OnCancel
}

// givesUp is what a turn gives up of the ops that were issued before it. Others have not been
// performed. Code that a run was moved to may have forgotten calls of the code before it: the end of
// such a run gives up what they have started.
func (l *ledger) givesUp(over, moved bool, cancelled []uint32) (steps []journal.StepID) {
	if over && moved {
		return []journal.StepID{{}}
	}
	if over {
		for o := range l.ops.All() {
			if stops(o) {
				return []journal.StepID{{}} // all of them
			}
		}
		return nil
	}
	for _, number := range cancelled {
		if o := l.ops.Numbered(number); o != nil && stops(o) {
			steps = append(steps, o.StepID)
		}
	}
	return steps
}

// giveUps says of steps that they are given up now, and why.
func (r *run) giveUps(steps []journal.StepID) []journal.GiveUp {
	all := make([]journal.GiveUp, len(steps))
	for i, step := range steps {
		all[i] = journal.GiveUp{Step: step, At: r.now(), Reason: givesUpBecause(r.row)}
	}
	return all
}

// everything gives up all that the run has started.
func (r *run) everything() []journal.GiveUp { return r.giveUps([]journal.StepID{{}}) }

// givesUpBecause is why an execution does not wait for what it has started.
func givesUpBecause(row *journal.Execution) string {
	reason := row.Name() + " does not wait for it any more"
	if i := row.Interrupt; i != nil && i.Reason != "" {
		reason += ": " + i.Reason
	}
	return abi.ClampReason(reason)
}

// settleDurable has what a durable write has given up worked off.
func (x *Executions) settleDurable(w *journal.Write) {
	for _, g := range w.GiveUp {
		x.settleGivenUp(journal.GivenUp{ID: w.ID, Run: w.Run, GiveUp: g})
	}
}

const (
	// givenUpPage is how much that was given up is read at once, givenUpAtOnce how much is worked off.
	givenUpPage   = 500
	givenUpAtOnce = 64
	childrenPage  = 100
	// stopPatience is how long one try to stop what was given up may take: a callee that computes does not answer.
	// Then it is the turn of others, and it is tried again after a while.
	stopPatience = 5 * time.Second
	maxStopDelay = time.Minute
)

// settling is what has been given up and is being worked off, so that it is not twice.
type settling struct {
	mu  sync.Mutex
	all map[journal.Caller]bool // guarded by mu
}

// begin reports false if it is being worked off already.
func (s *settling) begin(step journal.Caller) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[step] {
		return false
	}
	if s.all == nil {
		s.all = map[journal.Caller]bool{}
	}
	s.all[step] = true
	return true
}

func (s *settling) end(step journal.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, step)
}

// SettleGivenUp has all worked off that has been given up.
func (x *Executions) SettleGivenUp(ctx context.Context) {
	var after journal.Caller
	for {
		var page []journal.GivenUp
		failure, decided := x.retryUntilDecided(ctx, "look for what was given up", func() (err error) {
			if page, err = x.Store.GivenUp(ctx, after, givenUpPage); err != nil {
				return journal.Coded("look for what was given up", err)
			}
			return nil
		})
		if failure != nil || !decided || len(page) == 0 {
			return
		}
		for _, g := range page {
			x.settleGivenUp(g)
		}
		after = page[len(page)-1].Caller()
	}
}

// settleGivenUp works off what has been given up, and drops it, beside others. If the host ends before, the next one does.
func (x *Executions) settleGivenUp(g journal.GivenUp) {
	if x.settling.begin(g.Caller()) {
		x.trySettle(g, 100*time.Millisecond)
	}
}

// trySettle tries once, and after a delay again.
func (x *Executions) trySettle(g journal.GivenUp, delay time.Duration) {
	joined := x.stopping.Go(g.Run, func() {
		settled := false
		f := guarded(func() { settled = x.stopAndDrop(&g) })
		if f != nil {
			x.Logger.Error("the host failed while it stopped what was given up; the next one tries again", "execution", g.ID, "fault", f.What)
		}
		if settled || f != nil || x.Host.Draining() {
			x.settling.end(g.Caller())
			return
		}
		x.after(delay, func() { x.trySettle(g, min(2*delay, maxStopDelay)) })
	})
	if !joined {
		x.settling.end(g.Caller())
	}
}

// stopAndDrop does what is owed to what one step has started, or all of a run, and drops the row that says so. It reports
// whether there is nothing left to do.
func (x *Executions) stopAndDrop(g *journal.GivenUp) bool {
	ctx, cancel := context.WithTimeout(x.Host.Context(), stopPatience)
	defer cancel()
	if !x.starts.await(ctx, g.Caller()) {
		return false
	}
	x.Fault.Pass(faultpoint.GiveUpBefore)
	stop := x.stopChild
	if g.Step == (journal.StepID{}) {
		stop = x.stopAll
	}
	switch err := stop(ctx, g); {
	case err == nil:
	case ctx.Err() != nil || abi.IsTransient(err):
		return false
	default:
		x.Logger.Error("what was given up could not be stopped; the next host tries again", "execution", g.ID, "error", err)
		return true
	}
	x.Fault.Pass(faultpoint.GiveUpAfter)
	if err := x.Committer.DropGivenUp(ctx, g.ID, g.Run, []journal.StepID{g.Step}); err != nil {
		x.Logger.Warn("what was given up is stopped and could not be dropped; the next host does", "execution", g.ID, "error", err)
	}
	return true
}

// stopAll stops all that a run has started.
func (x *Executions) stopAll(ctx context.Context, g *journal.GivenUp) error {
	var after journal.ID
	for {
		children, err := x.Store.Children(ctx, g.Run, after, childrenPage)
		if err != nil {
			return journal.Coded("look for the children of a run", err)
		}
		for i := range children {
			if err := x.stop(ctx, &children[i], g); err != nil {
				return err
			}
			after = children[i].ID
		}
		if len(children) < childrenPage {
			return nil
		}
	}
}

// stopChild stops what a step has started.
func (x *Executions) stopChild(ctx context.Context, g *journal.GivenUp) error {
	child, err := x.Store.Callee(ctx, g.Caller())
	switch {
	case errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrSwept):
		return nil
	case err != nil:
		return journal.Coded("look for the callee", err)
	case child.Parent != g.Caller():
		return nil // it belongs to another caller
	}
	return x.stop(ctx, child, g)
}

// stop does to a child what its caller has said.
func (x *Executions) stop(ctx context.Context, child *journal.Execution, g *journal.GivenUp) error {
	i := journal.Interrupt{At: x.now(), GivenUp: true, Reason: g.Reason}
	var err error
	switch child.Pinned.OnCancel {
	case abi.OnCancelCancel:
		err = x.tell(ctx, RefTo(child), interruptNews{i})
	case abi.OnCancelTerminate:
		err = x.tell(ctx, RefTo(child), terminateNews{i})
	}
	switch abi.CodeOf(err) {
	case abi.CodeAlreadyOver, abi.CodeExecutionNotFound:
		return nil
	}
	return err
}

// starts are the tasks that may be starting a callee.
type starts struct {
	mu  sync.Mutex
	all map[journal.Caller]chan struct{} // guarded by mu; closed when the task is over
}

// begin notes a task of a step, before it works. The caller calls end when the task is over.
// A step has one task at a time, but one that was given up may still be at it: the next one
// follows it.
func (s *starts) begin(step journal.Caller) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[journal.Caller]chan struct{}{}
	}
	before, over := s.all[step], make(chan struct{})
	s.all[step] = over
	return func() {
		if before != nil {
			<-before
		}
		close(over)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.all[step] == over {
			delete(s.all, step)
		}
	}
}

// await waits until no task is at work for a step, or for any of a run if there is no step. It
// reports false if ctx ended before.
func (s *starts) await(ctx context.Context, of journal.Caller) bool {
	for _, over := range s.of(of) {
		select {
		case <-over:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (s *starts) of(of journal.Caller) (all []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.Step != (journal.StepID{}) {
		if over := s.all[of]; over != nil {
			return []<-chan struct{}{over}
		}
		return nil
	}
	for step, over := range s.all {
		if step.Run == of.Run {
			all = append(all, over)
		}
	}
	return all
}
