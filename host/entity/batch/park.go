package batch

import (
	"cmp"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// parkedRow says why a message of the batch is parked. A message that does not decode does not name
// its entity; the row of the entity does, or other calls have. If not it is listed and dropped by
// the name of its entity all the same: a name yields the id.
func (b *batch) parkedRow(c *call.Call, reason *abi.Error, now int64) journal.Parked {
	ref := c.Ref
	if ref == (target.Ref{}) && b.state != nil && b.state.Row != nil {
		ref = target.Ref{Namespace: b.state.Row.Namespace, Type: b.state.Row.Type, Key: b.state.Row.Key}
	}
	ref = cmp.Or(ref, b.job.Name)
	return parked.Of(ref, c.Position, reason, now, c.Misfits+1)
}

// endHopeless ends the messages that have no answer and no attempts left: they are parked, and a call whose
// caller may be gone has failed. If that fails they are tried again.
func (b *batch) endHopeless(reason *abi.Error) {
	var hopeless []*call.Call
	for _, c := range b.open() {
		if c.Position != 0 && c.Misfits+1 >= parked.MaxAttempts {
			hopeless = append(hopeless, c)
		}
	}
	if len(hopeless) == 0 {
		return
	}
	r := &run{batch: b, at: b.worker.Commits.Now(), replies: map[*call.Call]*reply{}} // the state may be unknown
	for _, c := range hopeless {
		r.parkOrFail(c, reason)
	}
	w := journal.Write{ID: b.job.ID}
	r.addReplies(&w, hopeless)
	commit.WithWitness(&w, r.at)
	if err := fault.Guard(func() error { return b.worker.Commits.Commit(w) }); err != nil {
		b.worker.Logger.Warn(
			"messages that cannot be performed could not be parked; trying again", "id", b.job.ID, "error", err,
		)
		return
	}
	r.answer(hopeless)
	b.res.GaveUp = true
}

// blame fails the call that has ended an invocation.
func (r *run) blame(c *call.Call, err error) {
	r.worker.Metrics.Crashes.Inc()
	failure := instance.Crashed(c.Operation, err)
	instance.LogCrash(r.worker.Logger, c.Ref, c.Operation, failure)
	r.parkOrFail(c, failure)
}

// parkOrFail records that a call could not be performed. A message is parked: its failure would reach no caller.
func (r *run) parkOrFail(c *call.Call, err *abi.Error) {
	if c.Sent {
		r.replies[c] = &reply{parked: err}
		return
	}
	r.fail(c, err)
}

// fail records that a call has failed, and has changed nothing.
func (r *run) fail(c *call.Call, err *abi.Error) {
	if c.Position != 0 && c.From.IsZero() {
		r.worker.Logger.Warn(
			"an operation has failed whose sender does not wait for it", "entity", c.Ref.String(), "operation",
			c.Operation, "error", err,
		)
	}
	r.replies[c] = &reply{outcome: abi.Outcome{Error: err}}
}
