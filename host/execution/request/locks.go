package request

import (
	"context"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/journal"
)

// InboxLocks order senders, who put messages into inboxes, and the steps of runs that exclude
// senders: to read their inbox, and to end. There is a lock for each execution that is in use.
//
// Senders share a lock, from before the commit of the message until the run is told; a run excludes
// them. So a run that has read its inbox knows of each message whose sender had the lock before,
// and is told of each whose sender has it later: the number of the reading tells which, since a
// sender knows the last one. And a message is in front of the end of its run, and known to it, or
// is refused.
type InboxLocks struct {
	mu       sync.Mutex
	all      map[journal.ID]*inboxLock // guarded by mu
	readings uint64                    // guarded by mu; counts them, of all executions
}

type inboxLock struct {
	*semaphore.Weighted
	users int // guarded by the mu of all locks; holders and waiters
}

// exclusive is the weight with which a run locks; a sender takes 1.
const exclusive = math.MaxInt64

// use is the lock of an execution. The caller lets go of it.
func (l *InboxLocks) use(id journal.ID) *inboxLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock := l.all[id]
	if lock == nil {
		if l.all == nil {
			l.all = map[journal.ID]*inboxLock{}
		}
		lock = &inboxLock{Weighted: semaphore.NewWeighted(exclusive)}
		l.all[id] = lock
	}
	lock.users++
	return lock
}

func (l *InboxLocks) letGo(id journal.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock := l.all[id]; lock.users > 1 {
		lock.users--
	} else {
		delete(l.all, id)
	}
}

func (l *InboxLocks) acquire(ctx context.Context, id journal.ID, n int64) (release func(), err error) {
	lock := l.use(id)
	if err := lock.Acquire(ctx, n); err != nil {
		l.letGo(id)
		return nil, err
	}
	return l.releaseOf(id, lock, n), nil
}

func (l *InboxLocks) releaseOf(id journal.ID, lock *inboxLock, n int64) func() {
	return func() {
		lock.Release(n)
		l.letGo(id)
	}
}

// Share acquires the lock of an execution for a sender. Reading is the number of the last reading.
func (l *InboxLocks) Share(ctx context.Context, id journal.ID) (reading uint64, release func(), err error) {
	release, err = l.acquire(ctx, id, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readings, release, err
}

// Exclude acquires the lock of an execution for its run.
func (l *InboxLocks) Exclude(ctx context.Context, id journal.ID) (release func(), err error) {
	return l.acquire(ctx, id, exclusive)
}

// TryExclude is Exclude of a lock that is free at once.
func (l *InboxLocks) TryExclude(id journal.ID) (release func(), free bool) {
	lock := l.use(id)
	if !lock.TryAcquire(exclusive) {
		l.letGo(id)
		return nil, false
	}
	return l.releaseOf(id, lock, exclusive), true
}

// ExcludeToRead is Exclude for a reading of the inbox, which gets a number.
func (l *InboxLocks) ExcludeToRead(ctx context.Context, id journal.ID) (reading uint64, release func(), err error) {
	release, err = l.Exclude(ctx, id)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readings++
	return l.readings, release, err
}
