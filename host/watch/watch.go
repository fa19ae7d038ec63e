package watch

import (
	"slices"
	"sync"

	"github.com/cruster/cruster/journal"
)

// List is the watchers of all executions of a host.
type List struct {
	mu   sync.Mutex
	byID map[journal.ID][]*Watcher // guarded by mu
}

// Watcher is called with the row when its execution is over or paused.
type Watcher struct {
	tell    func(row *journal.Execution) (enough bool)
	removed bool // guarded by the list's mu; it may be removed while it is being told
}

// NewList has no watchers.
func NewList() *List { return &List{byID: map[journal.ID][]*Watcher{}} }

// Add registers a function to be told of an execution, until it returns true or is
// removed. The function must not block and must not keep the row.
func (l *List) Add(id journal.ID, tell func(*journal.Execution) (enough bool)) *Watcher {
	w := &Watcher{tell: tell}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[id] = append(l.byID[id], w)
	return w
}

// Remove takes a watcher off the list. It may be called more than once.
func (l *List) Remove(id journal.ID, w *Watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.removed = true
	l.putLocked(id, without(l.byID[id], w))
}

// Notify tells all watchers of an execution.
func (l *List) Notify(row *journal.Execution) {
	l.mu.Lock()
	watchers := l.byID[row.ID]
	delete(l.byID, row.ID)
	l.mu.Unlock()
	var stay []*Watcher
	for _, w := range watchers {
		if !w.tell(row) {
			stay = append(stay, w)
		}
	}
	if len(stay) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	stay = slices.DeleteFunc(stay, func(w *Watcher) bool { return w.removed })
	l.putLocked(row.ID, append(stay, l.byID[row.ID]...))
}

func (l *List) putLocked(id journal.ID, watchers []*Watcher) {
	if len(watchers) == 0 {
		delete(l.byID, id)
		return
	}
	l.byID[id] = watchers
}

func without(watchers []*Watcher, w *Watcher) []*Watcher {
	var rest []*Watcher
	for _, x := range watchers {
		if x != w {
			rest = append(rest, x)
		}
	}
	return rest
}
