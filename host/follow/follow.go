package follow

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cruster/cruster/journal"
)

const (
	// maxFollowers bounds the followers of a host, and with maxHeld the memory for all of them.
	maxFollowers = 64
	// maxHeld is how many bytes of lines a follower holds until they are taken.
	maxHeld = 1 << 20
	// lineCost is the overhead of a line beside its text.
	lineCost = 128
)

// A Line was logged by a workflow or an activity.
type Line struct {
	// Activity names the activity that logged it, and Attempt its attempt; empty and 0 if the workflow did.
	Activity string
	Attempt  uint32
	// At is when it was logged, in Unix nanoseconds.
	At int64
	// Crashed says that the turn that logged it crashed behind it, and is taken again.
	Crashed bool
	// Dropped is how many lines right before it were dropped. A line that only says so has no
	// message.
	Dropped int
	// Level is a level of log/slog.
	Level   int32
	Message string
}

// List is the followers of all executions of a host. The zero value has none; nil is a list that never has any.
type List struct {
	count atomic.Int64 // of all followers; for readers without the lock
	mu    sync.Mutex
	byID  map[journal.ID][]*Follower // guarded by mu
}

// A Follower follows one execution, and of it the runs that continue each other.
type Follower struct {
	chain   journal.RunID
	changed chan struct{} // capacity 1

	// guarded by the list's mu
	lines   []Line
	held    int
	dropped int
	lastAt  int64 // of the line that was dropped last
	logged  int   // lines so far, with the dropped ones
	taken   int   // of them
}

// Add makes a follower of an execution and a chain of its runs; nil if there are too many. The
// caller removes it.
func (l *List) Add(id journal.ID, chain journal.RunID) *Follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count.Load() >= maxFollowers {
		return nil
	}
	if l.byID == nil {
		l.byID = map[journal.ID][]*Follower{}
	}
	f := &Follower{chain: chain, changed: make(chan struct{}, 1)}
	l.byID[id] = append(l.byID[id], f)
	l.count.Add(1)
	return f
}

// Remove takes a follower off the list.
func (l *List) Remove(id journal.ID, f *Follower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := slices.DeleteFunc(l.byID[id], func(other *Follower) bool { return other == f })
	if len(rest) < len(l.byID[id]) {
		l.count.Add(-1)
	}
	if len(rest) == 0 {
		delete(l.byID, id)
		return
	}
	l.byID[id] = rest
}

// Notify tells the followers of an execution that something about it was written.
func (l *List) Notify(id journal.ID) {
	if l == nil || l.count.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.byID[id] {
		f.notify()
	}
}

// Log hands a line of a run to its followers. The line is made only if there are any.
func (l *List) Log(row *journal.Execution, line func() Line) {
	if l == nil || l.count.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.byID[row.ID] {
		if f.chain == row.Chain {
			f.addLocked(line())
			f.notify()
		}
	}
}

func (f *Follower) notify() {
	select {
	case f.changed <- struct{}{}:
	default: // it has something to look at already
	}
}

func (f *Follower) addLocked(line Line) {
	cost := costOf(line)
	f.logged++
	if f.held+cost > maxHeld {
		f.dropped++
		f.lastAt = line.At
		return
	}
	line.Dropped, f.dropped = f.dropped, 0
	f.held += cost
	f.lines = append(f.lines, line)
}

func costOf(line Line) int { return len(line.Message) + len(line.Activity) + lineCost }

// Changed has a value when there may be something new.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Logged is how many lines were logged so far.
func (l *List) Logged(f *Follower) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f.logged
}

// Take returns the oldest line that was not taken, if it is from before a time, or one of the first so many that were
// logged.
func (l *List) Take(f *Follower, before int64, first int) (line Line, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(f.lines) == 0 {
		line = Line{At: f.lastAt, Dropped: f.dropped}
		if f.dropped == 0 || line.At >= before && f.taken >= first {
			return Line{}, false
		}
		f.taken, f.dropped = f.taken+f.dropped, 0
		return line, true
	}
	line = f.lines[0]
	if line.At >= before && f.taken+line.Dropped >= first {
		return Line{}, false
	}
	f.lines[0] = Line{}
	f.lines = f.lines[1:]
	f.held -= costOf(line)
	f.taken += line.Dropped + 1
	return line, true
}
