package watch

import (
	"sync"

	"github.com/cruster/cruster/journal"
)

// List is the watchers of all executions of a host.
type List struct {
	mu   sync.Mutex
	byID map[journal.ID][]*Watcher // guarded by mu
}

// Watcher is called with the row when its execution has ended or paused.
type Watcher struct {
	tell    func(row *journal.Execution) (enough bool)
	deleted func(chain journal.RunID) (enough bool) // or nil
}

// NewList has no watchers.
func NewList() *List { return &List{byID: map[journal.ID][]*Watcher{}} }

// Add registers a function to be told of an execution, until it returns true or is removed. The function must not block
// and must not keep the row. Several goroutines may call it at once, so it may be called again after it has returned
// true.
func (l *List) Add(id journal.ID, tell func(*journal.Execution) (enough bool)) *Watcher {
	return l.AddUntilDeleted(id, tell, nil)
}

// AddUntilDeleted is Add with a second function of that kind, to be told that the runs of a chain were deleted before
// anyone was told of their end.
func (l *List) AddUntilDeleted(
	id journal.ID, tell func(*journal.Execution) (enough bool), deleted func(chain journal.RunID) (enough bool),
) *Watcher {
	w := &Watcher{tell: tell, deleted: deleted}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[id] = append(l.byID[id], w)
	return w
}

// Remove takes watchers off the list. It may be called more than once.
func (l *List) Remove(id journal.ID, watchers ...*Watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := without(l.byID[id], watchers)
	if len(rest) == 0 {
		delete(l.byID, id)
		return
	}
	l.byID[id] = rest
}

// Notify tells all watchers of an execution. They stay on the list meanwhile: a waiter for another
// run than this must be there when that is told of at the same time.
func (l *List) Notify(row *journal.Execution) {
	l.notify(row.ID, func(w *Watcher) bool { return w.tell(row) })
}

// NotifyDeleted tells all watchers of an execution that the runs of a chain were deleted before anyone was told of
// their end.
func (l *List) NotifyDeleted(id journal.ID, chain journal.RunID) {
	l.notify(id, func(w *Watcher) bool { return w.deleted != nil && w.deleted(chain) })
}

func (l *List) notify(id journal.ID, tell func(w *Watcher) (enough bool)) {
	l.mu.Lock()
	watchers := l.byID[id]
	l.mu.Unlock()
	var enough []*Watcher
	for _, w := range watchers {
		if tell(w) {
			enough = append(enough, w)
		}
	}
	if len(enough) > 0 {
		l.Remove(id, enough...)
	}
}

// without is a list of its own: others may be telling the watchers of the first.
func without(watchers, gone []*Watcher) (rest []*Watcher) {
	left := make(map[*Watcher]bool, len(gone)) // thousands may wait for one execution
	for _, w := range gone {
		left[w] = true
	}
	for _, w := range watchers {
		if !left[w] {
			rest = append(rest, w)
		}
	}
	return rest
}
