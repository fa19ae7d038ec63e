package actor

import (
	"slices"
	"sync"
)

// FairQueue runs tasks of many owners, at most so many at a time. While all places are taken a task waits as data: it
// has no goroutine. The owners take turns, so that an owner with ten thousand tasks delays another with one by one
// task a place, and not by ten thousand.
type FairQueue[K comparable] struct {
	group  *TaskGroup
	places int

	mu      sync.Mutex
	taken   int            // guarded by mu; places
	waiting map[K][]func() // guarded by mu; of each owner, in the order in which they came
	owners  []K            // guarded by mu; of the tasks that wait and may begin, the next one first
	held    map[K]struct{} // guarded by mu; owners whose tasks do not begin
	shut    bool           // guarded by mu; no task begins
}

// NewFairQueue makes a queue whose tasks run on goroutines of a group.
func NewFairQueue[K comparable](group *TaskGroup, places int) *FairQueue[K] {
	return &FairQueue[K]{group: group, places: places, waiting: map[K][]func(){}, held: map[K]struct{}{}}
}

// Go has a task run as soon as there is a place. It reports false, and the task does not run, if the group is closed.
func (q *FairQueue[K]) Go(owner K, task func()) bool {
	q.mu.Lock()
	_, held := q.held[owner]
	if q.taken >= q.places || held || q.shut {
		if len(q.waiting[owner]) == 0 && !held {
			q.owners = append(q.owners, owner)
		}
		q.waiting[owner] = append(q.waiting[owner], task)
		q.mu.Unlock()
		return true
	}
	q.taken++
	q.mu.Unlock()
	if q.group.Go(func() { q.work(task) }) {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
	return false
}

// Hold has no further task of an owner begin before [FairQueue.Resume]. They wait as data.
func (q *FairQueue[K]) Hold(owner K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, held := q.held[owner]; !held {
		q.held[owner] = struct{}{}
		q.owners = slices.DeleteFunc(q.owners, func(o K) bool { return o == owner })
	}
}

// Resume ends a Hold, if there is one.
func (q *FairQueue[K]) Resume(owner K) {
	q.mu.Lock()
	if _, held := q.held[owner]; !held {
		q.mu.Unlock()
		return
	}
	delete(q.held, owner)
	if len(q.waiting[owner]) > 0 {
		q.owners = append(q.owners, owner)
	}
	q.beginAndUnlock()
}

// Shut has no further task of anyone begin before [FairQueue.Open]. They wait as data.
func (q *FairQueue[K]) Shut() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
}

// Open ends a Shut, if there is one.
func (q *FairQueue[K]) Open() {
	q.mu.Lock()
	q.shut = false
	q.beginAndUnlock()
}

// beginAndUnlock begins the tasks that there are places for.
func (q *FairQueue[K]) beginAndUnlock() {
	var begin []func()
	for q.taken < q.places {
		q.taken++
		task := q.nextLocked()
		if task == nil {
			break // which gave the place back
		}
		begin = append(begin, task)
	}
	q.mu.Unlock()
	for _, task := range begin {
		if !q.group.Go(func() { q.work(task) }) {
			q.mu.Lock()
			q.taken--
			q.mu.Unlock()
		}
	}
}

// Waiting counts the tasks that wait for a place.
func (q *FairQueue[K]) Waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, tasks := range q.waiting {
		n += len(tasks)
	}
	return n
}

// work runs a task and then the waiting ones, until there are none.
func (q *FairQueue[K]) work(task func()) {
	ended := false
	defer func() {
		// A task that ended its goroutine has left its place to the next.
		if !ended {
			if next := q.next(); next != nil {
				q.group.Go(func() { q.work(next) })
			}
		}
	}()
	for task != nil {
		task()
		task = q.next()
	}
	ended = true
}

// next takes the task whose turn it is; nil gives the place back.
func (q *FairQueue[K]) next() func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.nextLocked()
}

func (q *FairQueue[K]) nextLocked() func() {
	if q.group.isClosed() { // then none begins any more
		clear(q.waiting)
		q.owners = nil
	}
	if len(q.owners) == 0 || q.shut {
		q.taken--
		return nil
	}
	owner := q.owners[0]
	q.owners = q.owners[1:]
	tasks := q.waiting[owner]
	task := tasks[0]
	tasks[0] = nil
	if tasks = tasks[1:]; len(tasks) > 0 {
		q.waiting[owner] = tasks
		q.owners = append(q.owners, owner)
	} else {
		delete(q.waiting, owner)
	}
	return task
}
