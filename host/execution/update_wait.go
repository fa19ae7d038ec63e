package execution

import (
	"context"
	"slices"
	"sync"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
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
	if u.all == nil {
		u.all = map[journal.ID][]*updateWaiter{}
	}
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

// tell answers all callers of an update.
func (u *updateWaiters) tell(id journal.ID, origin journal.Origin, reply updateReply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.all[id] {
		if w.origin == origin {
			answer(w.reply, reply)
		}
	}
}

// origins are those of the updates of an execution that callers wait for.
func (u *updateWaiters) origins(id journal.ID) (origins []journal.Origin) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range u.all[id] {
		if !slices.Contains(origins, w.origin) {
			origins = append(origins, w.origin)
		}
	}
	return origins
}

// tellCallers tells callers of answers that are durable.
func (r *run) tellCallers(did localEffects) {
	for _, a := range did.answers {
		r.execs.updates.tell(r.id, a.Update.Origin, updateReply{outcome: a.Outcome})
	}
}

// tellAnswered sends waiting callers the answers of updates found in the store. It is called
// whenever a run has read its row from the store, since the acknowledgement of an answer's commit
// may have been lost, and when a run has ended.
func (x *Executions) tellAnswered(ctx context.Context, row *journal.Execution) {
	origins := x.updates.origins(row.ID)
	if len(origins) == 0 {
		return
	}
	inbox, err := x.Store.Inbox(ctx, row.Receiver(), 0)
	for _, origin := range origins {
		if reply, told := x.replyTo(ctx, row, inbox, err, origin); told {
			x.updates.tell(row.ID, origin, reply)
		}
	}
}

// replyTo returns the reply to an update, given the messages read from the inbox. It reports false
// if there is none: the update has not been answered, or not been accepted.
func (x *Executions) replyTo(ctx context.Context, row *journal.Execution, inbox []journal.Envelope, err error, origin journal.Origin) (reply updateReply, told bool) {
	var receipt *journal.Receipt
	if err == nil {
		receipt, err = x.receipt(ctx, row.ID, origin)
	}
	if err != nil {
		// It may have been answered: a repeat learns of it.
		return updateReply{err: journal.Coded("read the answer of "+row.Name(), err)}, true
	}
	switch standing := message.StatusOf(origin, inbox, receipt); {
	case standing == message.Done:
		return updateReply{outcome: message.OutcomeOf(receipt)}, true
	case standing == message.Accepted && row.State.Final():
		return updateReply{err: message.Unanswered(row)}, true
	}
	return updateReply{}, false
}
