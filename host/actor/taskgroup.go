package actor

import "sync"

// TaskGroup counts goroutines. Unlike a sync.WaitGroup it may grow from zero while a caller waits for it to be idle,
// and it can be closed: from then on no task joins.
//
// Goroutines whose task has ended wait for another: a new one would have to grow its stack again, step by step, through
// the depth of a guest or of a store, and a workflow of small steps begins two tasks a step.
type TaskGroup struct {
	mu      sync.Mutex
	n       int             // guarded by mu; tasks that run
	closed  bool            // guarded by mu
	waiting []chan struct{} // guarded by mu; closed when n falls to zero
	idle    []chan func()   // guarded by mu; goroutines without a task, the last one first
}

// maxIdle bounds the goroutines that wait for a task.
const maxIdle = 256

// Go runs f on a goroutine of the group. It reports false, and does not run f, if the group is closed.
func (g *TaskGroup) Go(f func()) bool {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false
	}
	g.n++
	if last := len(g.idle) - 1; last >= 0 {
		next := g.idle[last]
		g.idle = g.idle[:last]
		g.mu.Unlock()
		next <- f
		return true
	}
	g.mu.Unlock()
	go g.work(f)
	return true
}

// work runs a task, and then others for as long as it is wanted.
func (g *TaskGroup) work(f func()) {
	next := make(chan func(), 1)
	for ok := true; ok; {
		g.run(f)
		if !g.rest(next) {
			return
		}
		f, ok = <-next
	}
}

func (g *TaskGroup) run(f func()) {
	defer g.done() // also if the task ends its goroutine
	f()
}

// rest offers the goroutine for another task. It reports false if it is not needed.
func (g *TaskGroup) rest(next chan func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(g.idle) >= maxIdle {
		return false
	}
	g.idle = append(g.idle, next)
	return true
}

// join counts a task without a goroutine, until done. It reports false, and counts nothing, if the
// group is closed.
func (g *TaskGroup) join() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.n++
	return true
}

func (g *TaskGroup) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 {
		for _, ch := range g.waiting {
			close(ch)
		}
		g.waiting = nil
	}
}

// Idle returns a channel that is closed once no task runs.
func (g *TaskGroup) Idle() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	ch := make(chan struct{})
	if g.n == 0 {
		close(ch)
	} else {
		g.waiting = append(g.waiting, ch)
	}
	return ch
}

func (g *TaskGroup) isClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// Close lets no task join any more. Running tasks go on.
func (g *TaskGroup) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, next := range g.idle {
		close(next)
	}
	g.idle = nil
}
