package host

import (
	"context"
	"slices"
	"sync"

	"github.com/cruster/cruster/journal"
)

// waiters are told what became of executions. They cost no goroutine.
type waiters struct {
	mu   sync.Mutex
	byID map[journal.ID][]*waiter // guarded by mu
}

// waiter is called with the row when its execution is over or paused. It
// returns true when it has heard enough.
type waiter struct {
	tell func(row *journal.Execution) bool
	gone bool // guarded by the waiters' mu; it was removed, perhaps while being told
}

func (ws *waiters) add(id journal.ID, tell func(*journal.Execution) bool) *waiter {
	w := &waiter{tell: tell}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.byID[id] = append(ws.byID[id], w)
	return w
}

func (ws *waiters) remove(id journal.ID, w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.gone = true
	ws.put(id, without(ws.byID[id], w))
}

// put replaces the waiters of an execution. ws.mu is held.
func (ws *waiters) put(id journal.ID, list []*waiter) {
	if len(list) == 0 {
		delete(ws.byID, id)
		return
	}
	ws.byID[id] = list
}

func without(list []*waiter, w *waiter) []*waiter {
	var rest []*waiter
	for _, x := range list {
		if x != w {
			rest = append(rest, x)
		}
	}
	return rest
}

// notify tells all waiters of an execution.
func (ws *waiters) notify(row *journal.Execution) {
	ws.mu.Lock()
	list := ws.byID[row.ID]
	delete(ws.byID, row.ID)
	ws.mu.Unlock()
	var stay []*waiter
	for _, w := range list {
		if !w.tell(row) {
			stay = append(stay, w)
		}
	}
	if len(stay) == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	stay = slices.DeleteFunc(stay, func(w *waiter) bool { return w.gone })
	ws.put(row.ID, append(stay, ws.byID[row.ID]...))
}

// Wait returns the execution once it is over or paused.
func (e *Engine) Wait(ctx context.Context, namespace, execution string) (*journal.Execution, error) {
	id, err := executionID(namespace, execution)
	if err != nil {
		return nil, err
	}
	heard := make(chan *journal.Execution, 1)
	w := e.waiters.add(id, func(row *journal.Execution) bool {
		copied := *row
		select {
		case heard <- &copied:
		default:
		}
		return true
	})
	defer e.waiters.remove(id, w)
	row, err := e.loadRow(ctx, id, execution)
	if err != nil {
		return nil, err
	}
	if row.State != journal.Running {
		return row, nil
	}
	select {
	case row := <-heard:
		return row, nil
	case <-ctx.Done():
		return nil, storeError("wait for "+execution, ctx.Err())
	case <-e.ctx.Done():
		if err := e.accepting(); err != nil {
			return nil, err
		}
		return nil, e.ctx.Err()
	}
}
