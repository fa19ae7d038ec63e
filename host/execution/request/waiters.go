package request

import (
	"slices"
	"sync"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// updateReply is the reply to a caller of an update.
type updateReply struct {
	outcome abi.Outcome
	err     error // there is no outcome, as far as is known
}

// updateWaiter is a caller that waits for the answer to an update.
type updateWaiter struct {
	id     journal.ID
	chain  journal.RunID // guarded by the mu of its list; of the run that was last asked; zero before that
	origin journal.Origin
	reply  chan updateReply // capacity 1
}

// updateWaiters are the callers that wait for answers to updates, by execution.
type updateWaiters struct {
	mu  sync.Mutex
	all map[journal.ID][]*updateWaiter // guarded by mu
}

// wait has a caller told of the answer to an update, from now on.
func (u *updateWaiters) wait(id journal.ID, origin journal.Origin) *updateWaiter {
	w := &updateWaiter{id: id, origin: origin, reply: make(chan updateReply, 1)}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all[id] = append(u.all[id], w)
	return w
}

// stop says that a caller does not wait any more.
func (u *updateWaiters) stop(w *updateWaiter) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if left := slices.DeleteFunc(u.all[w.id], func(other *updateWaiter) bool { return other == w }); len(left) > 0 {
		u.all[w.id] = left
	} else {
		delete(u.all, w.id)
	}
}

// asks says of which chain the run is that the update is sent to. If another one has said meanwhile that it has no
// answer, that does not count any more.
func (u *updateWaiters) asks(w *updateWaiter, chain journal.RunID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if w.chain == chain {
		return
	}
	w.chain = chain
	select {
	case told := <-w.reply:
		if told.err == nil {
			w.reply <- told
		}
	default:
	}
}

// tell answers all callers of an update that have no answer yet: of a chain, unless that is zero.
func (u *updateWaiters) tell(id journal.ID, origin journal.Origin, chain journal.RunID, reply updateReply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.all[id] {
		if w.origin != origin || !chain.IsZero() && w.chain != chain {
			continue
		}
		select {
		case w.reply <- reply:
		default:
		}
	}
}

// origins lists the updates of an execution that callers wait for: of a chain, unless that is zero.
func (u *updateWaiters) origins(id journal.ID, chain journal.RunID) (origins []journal.Origin) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.all[id] {
		if (chain.IsZero() || w.chain == chain) && !slices.Contains(origins, w.origin) {
			origins = append(origins, w.origin)
		}
	}
	return origins
}
