package batch

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// performLock is the task of a batch that locks, or takes a lock away.
func (b *batch) performLock(c *call.Call) error {
	if c.Kind == call.Unlock && b.job.Lock != nil && b.job.Lock.Holder != c.From {
		b.res.Answers[c] = call.Answer{Outcome: abi.Outcome{Value: abi.Nil}} // it is another's by now
		return nil
	}
	w := journal.Write{ID: b.job.ID, Unlock: c.Kind == call.Unlock}
	a := call.Answer{Outcome: abi.Outcome{Value: abi.Nil}}
	if c.Kind == call.Lock {
		lasts, err := b.worker.Store.InSection(b.worker.Host.Context(), c.From)
		switch {
		case err != nil:
			return err
		case !lasts:
			a = call.Answer{
				Err: abi.Errorf(abi.CodeNotLocked, "%s was not locked: the critical section is over", c.Ref),
			}
		case b.job.Lock == nil:
			w.Lock = b.lockOf(c)
		}
	}
	if c.Position != 0 {
		w.Take = []uint64{c.Position}
	}
	if a.Err == nil {
		w.Send = c.AnswerTo(b.job.ID, a.Outcome, b.worker.Commits.Now())
	}
	if err := b.commitLock(w); err != nil {
		return err
	}
	b.res.Answers[c] = a
	return nil
}

// lockOf is the row of a lock for the step that asks for it.
func (b *batch) lockOf(c *call.Call) *journal.Lock {
	return &journal.Lock{
		Entity:    b.job.ID,
		Namespace: c.Ref.Namespace,
		Type:      c.Ref.Type,
		Key:       c.Ref.Key,
		Holder:    c.From,
		Since:     b.worker.Commits.Now(),
	}
}

// commitLock makes the row of a lock durable, or its end.
func (b *batch) commitLock(w journal.Write) error {
	if w.Lock != nil {
		b.worker.Fault.Pass(faultpoint.LockBeforeCommit)
	}
	commit.WithWitness(&w, b.worker.Commits.Now())
	if err := b.worker.Commits.Commit(w); err != nil {
		return err
	}
	if b.res.Lock = w.Lock; w.Lock != nil {
		b.worker.Fault.Pass(faultpoint.LockAfterCommit)
	}
	return nil
}
