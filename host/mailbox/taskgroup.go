package host

import "sync"

// crew counts goroutines that do work for executions. Unlike a WaitGroup it may
// grow from zero while somebody waits for it to be idle, and it can be
// dismissed: from then on nobody joins.
type crew struct {
	mu        sync.Mutex
	n         int             // guarded by mu
	dismissed bool            // guarded by mu
	waiting   []chan struct{} // guarded by mu; closed when n falls to zero
}

// start runs f on a goroutine of the crew; it reports false, and does not run
// it, if the crew was dismissed.
func (c *crew) start(f func()) bool {
	c.mu.Lock()
	if c.dismissed {
		c.mu.Unlock()
		return false
	}
	c.n++
	c.mu.Unlock()
	go func() {
		defer c.leave()
		f()
	}()
	return true
}

func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 {
		for _, ch := range c.waiting {
			close(ch)
		}
		c.waiting = nil
	}
}

// idle returns a channel that is closed once nobody works.
func (c *crew) idle() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan struct{})
	if c.n == 0 {
		close(ch)
	} else {
		c.waiting = append(c.waiting, ch)
	}
	return ch
}

// dismiss lets nobody join any more.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismissed = true
}
