package crustertest

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// bubble is where the code of one execution runs, with a clock of its own: time.Now and all that goes by it show the
// time of the execution, and stand still during a turn.
//
// It is a bubble of testing/synctest. Only the code of a workflow is inside, which has nothing to
// do with the world. The simulated host, activities, stubs, databases and handlers of HTTP are
// outside, where time is real and goroutines may wait for sockets: a goroutine inside waiting for
// one would stop the clock. The two sides meet in channels that were made outside.
//
// A test that is in a bubble itself cannot make another one. Its executions run in the bubble of the
// test, and move its clock.
type bubble struct {
	work   chan func()
	done   chan struct{}
	number string     // as stacks show it
	shared bool       // it is the test's
	stuck  bool       // its last turn has not ended
	why    *abi.Error // it is stuck
	gate   *gate      // closed when it is
	last   func()     // cleanup to run there before it ends; set before it is closed
}

// defaultTurnLimit is how long a turn may take, in real time, unless the test says otherwise.
const defaultTurnLimit = 10 * time.Second

// forever is how long a coroutine that waits for something else than the host is waited for. In a bubble that takes no
// time: the clock only moves when all wait.
const forever = 100 * 365 * 24 * time.Hour

func newBubble() *bubble {
	b := &bubble{work: make(chan func()), done: make(chan struct{}, 1), gate: newGate()}
	entered := make(chan bool)
	go func() {
		inside := false
		// Goroutines that the workflow has left behind make Test panic when it ends.
		defer func() {
			switch failed := recover() != nil; {
			case failed && inside:
				known.Store(b.number, left)
			case failed:
				entered <- false
			default:
				known.Delete(b.number)
			}
		}()
		synctest.Test(new(testing.T), func(*testing.T) {
			inside = true
			root, _ := stacks.Current()
			b.number = root.Bubble
			known.Store(b.number, live)
			entered <- true
			for act := range b.work {
				act()
				b.done <- struct{}{}
			}
			if b.last != nil {
				b.last()
			}
		})
	}()
	b.shared = !<-entered
	return b
}

// inBubble tells whether the test is in a bubble of its own.
func inBubble() bool {
	b := newBubble()
	b.close()
	return b.shared
}

// turn calls act when it is at in the bubble. The error says why the workflow cannot go on.
func (b *bubble) turn(at time.Time, limit time.Duration, act func()) *abi.Error {
	var problem *abi.Error
	if stuck := b.do(limit, func() {
		if problem = moveTo(at); problem == nil {
			problem = standStill(act)
		}
	}); stuck != nil {
		return stuck
	}
	return problem
}

// look calls act in the bubble, at the time of the last turn.
func (b *bubble) look(limit time.Duration, act func()) *abi.Error {
	var problem *abi.Error
	if stuck := b.do(limit, func() { problem = standStill(act) }); stuck != nil {
		return stuck
	}
	return problem
}

// standStill calls act, and refuses to wait for the clock, as a host does. The clock moves when all
// of the bubble wait, first to the timer of the check for that.
func standStill(act func()) *abi.Error {
	var waiting atomic.Pointer[string]
	began := time.Now()
	looks := time.AfterFunc(time.Nanosecond, func() {
		all := stacks.Take()
		who := stacks.WhoSleeps(slices.DeleteFunc(all[1:], func(g stacks.Goroutine) bool {
			return g.Bubble != all[0].Bubble
		}))
		waiting.Store(&who)
	})
	act()
	looks.Stop()
	blocked := time.Since(began)
	if blocked <= 0 || blocked >= forever {
		return nil
	}
	who := ""
	if seen := waiting.Load(); seen != nil {
		who = *seen
	}
	return abi.Errorf(abi.CodeBlockingSleep, "the module tried to block for %v%s", blocked, who)
}

// do calls act in the bubble. The limit is of real time.
func (b *bubble) do(limit time.Duration, act func()) *abi.Error {
	if b.shared {
		act()
		return nil
	}
	if b.stuck {
		return b.why // no one takes work there any more
	}
	deadline := time.Now().Add(limit)
	w := watch{bubble: b.number}
	b.work <- act
	timer := time.NewTimer(0)
	defer timer.Stop()
	for pause := firstLook; ; pause = min(2*pause, rarestLooks) {
		// tests that look at the same time see each other run
		timer.Reset(min(pause+rand.N(pause), time.Until(deadline)))
		select {
		case <-b.done:
			return nil
		case <-timer.C:
		}
		late := time.Now().After(deadline)
		problem := w.look(stacks.Take(), late)
		select {
		case <-b.done: // just now
			return nil
		default:
		}
		if problem != nil {
			b.stuck, b.why = true, problem
			b.gate.close(problem)
			known.Store(b.number, left)
			return problem
		}
	}
}

// moveTo moves the clock of the bubble.
func moveTo(at time.Time) *abi.Error {
	time.Sleep(time.Until(at))
	if now := time.Now(); !now.Equal(at) {
		return abi.Errorf(
			abi.CodeWrongContext,
			"it is %s in the test, which cannot show the workflow that it is %s: an execution starts in 2000 at the "+
				"earliest, "+
				"and in a bubble of testing/synctest not before the time of the bubble; a replay is made outside of it",
			now.UTC().Format(time.RFC3339Nano),
			at.Format(time.RFC3339Nano),
		)
	}
	return nil
}

// close ends the bubble. A stuck bubble ends when its turn comes back, if it ever does.
func (b *bubble) close() { close(b.work) }
