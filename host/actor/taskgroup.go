package actor

import "sync"

// TaskGroup counts goroutines. Unlike a sync.WaitGroup it may grow from zero while
// a caller waits for it to be idle, and it can be closed: from then on no task
// joins.
type TaskGroup struct {
	mu      sync.Mutex
	n       int             // guarded by mu
	closed  bool            // guarded by mu
	waiting []chan struct{} // guarded by mu; closed when n falls to zero
}

// Go runs f on a goroutine of the group. It reports false, and does not run f, if
// the group is closed.
func (g *TaskGroup) Go(f func()) bool {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return false
	}
	g.n++
	g.mu.Unlock()
	go func() {
		defer g.done()
		f()
	}()
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

// Close lets no task join any more. Those that run go on.
func (g *TaskGroup) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}
