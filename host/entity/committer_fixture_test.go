package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cruster/cruster/journal"
)

// scriptedCommitter commits as the committer of a host does, or loses the answer, the write, or
// the store; and it can be held.
type scriptedCommitter struct {
	store  journal.Store
	group  *journal.Committer
	fences []journal.Fence

	mu     sync.Mutex
	next   []string        // guarded by mu; the fates of the next commits
	writes []journal.Write // guarded by mu; that took effect
	held   chan struct{}   // guarded by mu; commits wait for it to be closed, if it is not nil
	began  chan struct{}   // guarded by mu; told of each commit that is held
	late   []journal.Write // guarded by mu; writes whose answer was lost, and that take effect later
	full   journal.ID      // guarded by mu; the inbox that takes no messages of entities
	failed int             // guarded by mu; commits that the store refused
}

func (c *scriptedCommitter) hold() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held, c.began = make(chan struct{}), make(chan struct{}, 1000)
	return c.began
}

func (c *scriptedCommitter) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held != nil {
		close(c.held)
		c.held = nil
	}
}

func (c *scriptedCommitter) script(next ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = next
}

func (c *scriptedCommitter) Commit(w journal.Write) (journal.Result, error) {
	c.mu.Lock()
	held, began := c.held, c.began
	c.mu.Unlock()
	if held != nil {
		began <- struct{}{}
		<-held
	}
	mishap, err := c.meet(w)
	if err != nil {
		return journal.Result{}, err
	}
	w.Fence = c.fences[w.ID.Shard()]
	res, err := c.group.Commit(context.Background(), w)
	c.note(w, res, err)
	if mishap == "lose" {
		return journal.Result{}, fmt.Errorf("commit: %w", journal.ErrUndecided)
	}
	return res, err
}

// meet plays the next mishap. It returns the error of a write that does not reach the store.
func (c *scriptedCommitter) meet(w journal.Write) (mishap string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.next) > 0 {
		mishap, c.next = c.next[0], c.next[1:]
	}
	switch mishap {
	case "drop":
		return mishap, fmt.Errorf("commit: %w", journal.ErrUndecided)
	case "delay":
		c.late = append(c.late, w)
		return mishap, fmt.Errorf("commit: %w", journal.ErrUndecided)
	case "fail":
		return mishap, errors.New("no connection")
	case "fail after late":
		for _, late := range c.late {
			_, _ = c.applyLocked(late)
		}
		c.late = nil
		return mishap, errors.New("no connection")
	}
	if slices.ContainsFunc(w.Send, func(s journal.Sent) bool { return s.To == c.full }) {
		return mishap, journal.ErrInboxFull
	}
	return mishap, nil
}

func (c *scriptedCommitter) note(w journal.Write, res journal.Result, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.failed++
	case !res.Existed:
		c.writes = append(c.writes, w)
	}
}

// refused is how many commits the store has refused.
func (c *scriptedCommitter) refused() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// CommitTx implements Transactions.
func (c *scriptedCommitter) CommitTx(ctx context.Context, tx journal.GuestTx, w journal.Write) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	mishap := ""
	if len(c.next) > 0 {
		mishap, c.next = c.next[0], c.next[1:]
	}
	switch mishap {
	case "conflict":
		_ = tx.Rollback(ctx)
		return journal.ErrConflict
	case "preempt":
		_ = tx.Rollback(ctx)
		return journal.ErrPreempted
	}
	w.Fence = c.fences[w.ID.Shard()]
	err := tx.Commit(ctx, w)
	if err == nil {
		c.writes = append(c.writes, w)
	}
	if mishap == "lose" {
		return journal.ErrUndecided
	}
	return err
}

// applyLocked commits a write by itself, also when the host has ended.
func (c *scriptedCommitter) applyLocked(w journal.Write) (journal.Result, error) {
	w.Fence = c.fences[w.ID.Shard()]
	results, err := c.store.Commit(context.Background(), []journal.Write{w})
	if err != nil {
		return journal.Result{}, err
	}
	if results[0].Err == nil && !results[0].Existed {
		c.writes = append(c.writes, w)
	}
	return results[0], results[0].Err
}

// taken are the writes that took effect since it was asked for.
func (c *scriptedCommitter) taken() []journal.Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.writes
	c.writes = nil
	return w
}
