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

// Watcher is called with the row when its execution is over or paused.
type Watcher struct {
	tell func(row *journal.Execution) (enough bool)
	by   journal.ID // the execution that waits; zero if it is a client
}

// NewList has no watchers.
func NewList() *List { return &List{byID: map[journal.ID][]*Watcher{}} }

// Add registers a function to be told of an execution, until it returns true or is
// removed. The function must not block and must not keep the row. Several goroutines may call it at
// once, so it may be called again after it has returned true.
func (l *List) Add(id journal.ID, tell func(*journal.Execution) (enough bool)) *Watcher {
	return l.AddCaller(id, journal.ID{}, tell)
}

// AddCaller is Add for an execution that waits for another.
func (l *List) AddCaller(id, by journal.ID, tell func(*journal.Execution) (enough bool)) *Watcher {
	w := &Watcher{tell: tell, by: by}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[id] = append(l.byID[id], w)
	return w
}

// maxCallers is how many executions Circle looks at.
const maxCallers = 1000

// Circle finds executions that wait for each other, of which the given one is the first: it waits for
// the next, and the last one waits for it. Nil if there is no such circle, or too many executions
// would have to be looked at. It is a short one if there are several.
//
// It goes from the first to those that wait for it, and from these on, until it is back: most
// executions have few callers, and many callees.
func (l *List) Circle(first journal.ID) (circle []journal.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waitsFor := map[journal.ID]journal.ID{}
	for queue := []journal.ID{first}; len(queue) > 0; queue = queue[1:] {
		callee := queue[0]
		for _, w := range l.byID[callee] {
			if w.by.IsZero() {
				continue
			}
			if _, seen := waitsFor[w.by]; seen {
				continue
			}
			if len(waitsFor) == maxCallers {
				return nil
			}
			waitsFor[w.by] = callee
			if w.by != first {
				queue = append(queue, w.by)
				continue
			}
			circle = append(circle, first)
			for id := callee; id != first; id = waitsFor[id] {
				circle = append(circle, id)
			}
			return circle
		}
	}
	return nil
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

// Notify tells all watchers of an execution. They stay on the list meanwhile: one who waits for another
// run than this must be there when that is told of at the same time.
func (l *List) Notify(row *journal.Execution) {
	l.mu.Lock()
	watchers := l.byID[row.ID]
	l.mu.Unlock()
	var enough []*Watcher
	for _, w := range watchers {
		if w.tell(row) {
			enough = append(enough, w)
		}
	}
	if len(enough) > 0 {
		l.Remove(row.ID, enough...)
	}
}

// without is a list of its own: others may be telling those of the first.
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
