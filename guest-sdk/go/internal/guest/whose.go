package guest

import (
	"errors"
	"sync"

	"github.com/cruster/cruster/guest-sdk/go/internal/stacks"
)

// In a module [Running] says which attempt runs. A test runs many at a time, beside code of its
// own, so there the goroutine says it: the goroutine of an attempt, and those started from it. This
// is for packages that must identify the attempt of code which passes no context.

// whose has the goroutines whose attempt is known, also of finished attempts, which may leave
// goroutines behind. The numbers of goroutines are not used twice.
var whose = struct {
	sync.Mutex
	attempts map[int]*attemptOf // guarded by it; by goroutine. A nil one is the test's.
	running  int                // guarded by it
}{attempts: map[int]*attemptOf{}}

type attemptOf struct {
	context any  // that the code was given; nil before that
	stub    bool // the code is the test's, in place of the module's
}

// AsAttempt calls act, which is an attempt, or a stub of one, on a goroutine that does nothing else.
func AsAttempt(stub bool, act func()) {
	id := stacks.ID()
	whose.Lock()
	whose.attempts[id] = &attemptOf{stub: stub}
	whose.running++
	whose.Unlock()
	defer func() {
		whose.Lock()
		defer whose.Unlock()
		whose.running--
		whose.attempts[id] = &attemptOf{stub: stub} // without the contents of the context
	}()
	act()
}

// AsTest calls act, which is code of the test that an attempt waits for, on a goroutine that does nothing else.
func AsTest(act func()) {
	id := stacks.ID()
	whose.Lock()
	whose.attempts[id] = nil
	whose.Unlock()
	defer func() {
		whose.Lock()
		defer whose.Unlock()
		delete(whose.attempts, id)
	}()
	act()
}

// NoteRunning sets the context of this goroutine's attempt.
func NoteRunning(context any) {
	id := stacks.ID()
	whose.Lock()
	defer whose.Unlock()
	if a := whose.attempts[id]; a != nil {
		a.context = context
	}
}

// IsWorkflows tells whether the goroutines of a bubble of testing/synctest belong to a workflow.
// The test kit sets it.
var IsWorkflows = func(_ string) bool { return false }

// RunningHere is the context of the attempt that this goroutine is of. inside is false if it is of the test; a workflow
// is inside and has no context. If it is not known, because goroutines between it and the attempt have ended, it is
// taken for one of an attempt while there are any.
func RunningHere() (context any, inside bool) {
	if isOfWorkflow() {
		return nil, true
	}
	a, lost := attemptHere()
	if lost {
		whose.Lock()
		defer whose.Unlock()
		return nil, whose.running > 0
	}
	return contextOf(a)
}

// IsOfModule tells whether this goroutine runs code that runs in a module on a host: a workflow, or
// an attempt that is no stub. An unknown goroutine counts as the test's.
func IsOfModule() bool {
	if isOfWorkflow() {
		return true
	}
	a, _ := attemptHere()
	return a != nil && !a.stub
}

func isOfWorkflow() bool {
	g, _ := stacks.Current()
	return g.Bubble != "" && IsWorkflows(g.Bubble)
}

// attemptHere is the attempt that this goroutine is of; nil if it is of none. It is lost if goroutines between it and
// the attempt, or the test, have ended.
func attemptHere() (a *attemptOf, lost bool) {
	id := stacks.ID()
	if a, known := known(id); known {
		return a, false
	}
	if !haveBeen() {
		return nil, false
	}
	parents := map[int]int{}
	for _, g := range stacks.Take() {
		parents[g.ID] = g.Parent
	}
	for id != 0 {
		parent, alive := parents[id]
		if !alive {
			return nil, true
		}
		if a, known := known(parent); known {
			return a, false
		}
		id = parent
	}
	return nil, false
}

// haveBeen tells whether there was any attempt: if not, there is no need to look whose a goroutine is.
func haveBeen() bool {
	whose.Lock()
	defer whose.Unlock()
	return len(whose.attempts) > 0
}

func known(id int) (a *attemptOf, known bool) {
	whose.Lock()
	defer whose.Unlock()
	a, known = whose.attempts[id]
	return a, known
}

func contextOf(a *attemptOf) (context any, inAttempt bool) {
	if a == nil {
		return nil, false
	}
	whose.Lock()
	defer whose.Unlock()
	return a.context, true
}

// ErrNoSockets is the test kit's error where a module has no network.
var ErrNoSockets = errors.New("a module that does not import stdhttp has no network of its own")

// kit holds the work to do if the test kit is part of the program, and whether it is. Both are set
// by init functions.
var kit struct {
	isHere bool
	act    []func()
}

// WithKit calls act if the test kit is part of the program. It is called by init functions.
func WithKit(act func()) {
	if kit.isHere {
		act()
		return
	}
	kit.act = append(kit.act, act)
}

// KitIsHere is called by the test kit's init function.
func KitIsHere() {
	kit.isHere = true
	for _, act := range kit.act {
		act()
	}
}
