package batch

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// run is one pass through the calls of a batch: the effects of the calls, none of them durable or
// visible outside the host.
type run struct {
	*batch
	target  target.Target
	at      int64
	state   []byte
	version uint32
	replies map[*call.Call]*reply
	log     []guest.LogLine
	tooLong bool // an invocation took too long, and the calls in front of the one to blame are run again
}

// reply is the outcome of one call, with its effects.
type reply struct {
	outcome abi.Outcome
	sent    []journal.Sent
	parked  *abi.Error // why it is parked; or nil
}

func newRun(b *batch) *run {
	r := &run{batch: b, at: b.worker.Commits.Now(), replies: map[*call.Call]*reply{}}
	r.state, r.version = b.state.State()
	return r
}

// perform performs calls against the state of the last commit. An error is the host's trouble, or the deployment's; no
// operation is to blame for it.
func (r *run) perform(calls []*call.Call) error {
	if calls[0].Kind == call.Destroy {
		r.destroy(calls[0])
		return nil
	}
	var sound []*call.Call
	for _, c := range calls {
		if c.Damaged != nil {
			r.parkOrFail(c, c.Damaged)
			continue
		}
		sound = append(sound, c)
	}
	if len(sound) == 0 {
		return nil
	}
	if err := r.findCode(sound[0].Ref); err != nil {
		return err
	}
	known := sound[:0]
	for _, c := range sound {
		if _, err := r.target.Type.Operation(c.Operation); err != nil {
			r.parkOrFail(c, abi.AsError(err)) // it was there when the call was checked
			continue
		}
		known = append(known, c)
	}
	if len(known) == 0 {
		return nil
	}
	return r.operate(known)
}

// performed are those of some calls that have come to something.
func (r *run) performed(calls []*call.Call) (done []*call.Call) {
	for _, c := range calls {
		if r.replies[c] != nil {
			done = append(done, c)
		}
	}
	return done
}

// findCode finds the code of the entity as it is now, and refuses code that cannot serve the state.
func (r *run) findCode(ref target.Ref) (err error) {
	if r.target, err = r.worker.Targets.Find(r.worker.Host.Context(), ref); err != nil {
		return err
	}
	if !r.target.Type.Stateful() {
		return abi.Errorf(abi.CodeUnknownOperation, "the entities %q have no state any more", ref.Type)
	}
	return r.batch.state.Readable(r.target)
}

// destroy deletes the state. No code runs.
func (r *run) destroy(c *call.Call) {
	if r.state == nil {
		r.fail(c, abi.Errorf(abi.CodeEntityNotFound, "there is no entity %s", c.Ref))
		return
	}
	r.state, r.version = nil, 0
	r.replies[c] = &reply{outcome: abi.Outcome{Value: abi.Nil}}
}

// errTooLong says that an invocation of several calls took too long, and that it is not known which of
// them did: nothing of them has taken effect.
var errTooLong = errors.New("entity: several calls took too long together")

// errOthers says that some calls have been performed, and that the others are to be performed by another
// batch.
var errOthers = errors.New("entity: only some of the calls have been performed")

// operate runs calls, all at once; if that fails on account of one of them, those in front of it, it,
// and those behind it. Which one it is the guest reports; without a report the calls are run in halves.
func (r *run) operate(calls []*call.Call) error {
	if len(calls) == 0 {
		return nil
	}
	err := r.invoke(calls)
	if err == nil || !instance.IsOfGuest(err) {
		return err
	}
	in := instance.OperationErrorOf(err)
	switch {
	case len(calls) == 1:
		r.blame(calls[0], err)
		return nil
	case abi.CodeOf(err) == abi.CodeGuestTimeout:
		return r.operateBefore(calls, in, err)
	case in != nil:
		return r.operateParts(calls[:in.Operation], calls[in.Operation:in.Operation+1], calls[in.Operation+1:])
	default:
		half := (len(calls) + 1) / 2
		return r.operateParts(calls[:half], calls[half:])
	}
}

func (r *run) operateParts(parts ...[]*call.Call) error {
	for _, calls := range parts {
		if err := r.operate(calls); err != nil {
			return err
		}
	}
	return nil
}

// operateBefore runs the calls in front of the call that took too long. The slow call is to blame if it had a
// whole limit for itself, and is not run again. So an endless loop costs the limit once, and the calls in
// front of it are durable and answered before any call behind it begins.
//
// Calls whose guest does not report which one it runs are not run in halves: each half with an endless
// loop in it would take as long again, and the loop among 256 would be found after nine times the
// limit. Each call has a batch of its own then ([Result.Apart]), which costs the limit once more for
// each that never ends, and little for the others. So have the calls of a guest with a false report: the
// calls that it reported as done take too long as well.
func (r *run) operateBefore(calls []*call.Call, in *instance.OperationError, err error) error {
	if in == nil || in.Operation == 0 && !in.Whole || r.tooLong {
		return errTooLong
	}
	r.tooLong = true
	if err := r.operate(calls[:in.Operation]); err != nil {
		return err
	}
	if in.Whole {
		r.blame(calls[in.Operation], err)
	}
	return errOthers
}

// invoke runs calls in one invocation, and takes over their effects.
func (r *run) invoke(calls []*call.Call) error {
	body := &abi.Operations{State: r.state, Version: r.version}
	for _, c := range calls {
		body.Operations = append(body.Operations, abi.EntityCall{Operation: c.Operation, Input: c.Input})
	}
	ran, err := r.worker.Guests.Operations(r.worker.Host.Context(), r.target, body)
	if err != nil {
		return err
	}
	if err := checkReply(ran, len(calls), r.target); err != nil {
		return err
	}
	replies := make([]*reply, len(calls))
	for i := range calls {
		if replies[i], err = r.accept(&ran.Replies[i]); err != nil {
			return err
		}
	}
	for i, c := range calls {
		r.replies[c] = replies[i]
		if err := replies[i].outcome.Error; err != nil && instance.IsUnperformed(err) {
			r.parkOrFail(c, err)
		}
	}
	r.state, r.version = ran.State, ran.Version
	r.log = append(r.log, ran.Log...)
	return nil
}

// checkReply refuses a reply that cannot be made durable.
func checkReply(ran *instance.Result, operations int, t target.Target) error {
	switch {
	case len(ran.Replies) != operations:
		return abi.Errorf(
			abi.CodeGuestProtocol, "the module answered %d of %d operations", len(ran.Replies), operations,
		)
	case len(ran.State) > snapshot.MaxState:
		return abi.Errorf(
			abi.CodePayloadTooLarge, "the state of %s has %d bytes, the limit is %d", t.Ref, len(ran.State),
			snapshot.MaxState,
		)
	case ran.State != nil && ran.Version != t.Type.StateVersion:
		return abi.Errorf(
			abi.CodeGuestProtocol, "the module left a state of version %d, and its manifest says %d", ran.Version,
			t.Type.StateVersion,
		)
	case ran.State != nil:
		if _, err := abi.Canonical(ran.State); err != nil {
			return abi.Errorf(abi.CodeGuestProtocol, "the state that the module left is not one msgpack value: %v", err)
		}
	}
	return nil
}

// accept checks the answer and the messages of one operation. An error is on its account.
func (r *run) accept(o *abi.OperationReply) (*reply, error) {
	if o.Error != nil {
		return &reply{outcome: instance.OutcomeOf(o)}, nil
	}
	if err := abi.CheckPayload("the result", o.Value); err != nil {
		return nil, err
	}
	sent, err := r.messages(o)
	if err != nil {
		return nil, err
	}
	return &reply{outcome: instance.OutcomeOf(o), sent: sent}, nil
}

// write is all that calls came to, in one write.
func (r *run) write(calls []*call.Call) journal.Write {
	w := journal.Write{ID: r.job.ID}
	after, changed := r.after()
	switch {
	case changed && after.Row == nil:
		w.Destroy = true
	case changed:
		w.Entity = after.Row
	}
	r.addReplies(&w, calls)
	w.Unlock = r.job.Leftover && !commit.IsEmpty(&w)
	commit.WithWitness(&w, r.at)
	return w
}

// addReplies adds the reply of each of some calls to a write, beside the state after them.
func (r *run) addReplies(w *journal.Write, calls []*call.Call) {
	for _, c := range calls {
		rep := r.replies[c]
		if rep.parked != nil {
			w.Park = append(w.Park, r.parkedRow(c, rep.parked, r.at))
			continue
		}
		if c.Position != 0 {
			w.Take = append(w.Take, c.Position)
		}
		if c.LeavesReceipt() {
			w.Receipts = append(w.Receipts, journal.Receipt{
				Origin: c.Origin, From: c.From, At: r.at, Value: rep.outcome.Value, Error: rep.outcome.Error,
			})
		}
		w.Send = append(append(w.Send, rep.sent...), c.AnswerTo(r.job.ID, rep.outcome, r.at)...)
	}
}

// after is the snapshot once the write has taken effect.
func (r *run) after() (s *snapshot.Snapshot, changed bool) {
	return r.batch.state.Next(r.target.Ref, r.state, r.version, r.at)
}

// letOut publishes the effects that are durable by now.
func (r *run) letOut(calls []*call.Call, w journal.Write) {
	r.batch.state, _ = r.after()
	if w.Unlock {
		r.job.Leftover, r.res.Unlocked = false, true
	}
	r.worker.Metrics.Batches.Inc()
	r.worker.Metrics.Batched.Add(float64(len(calls)))
	r.answer(calls)
	for i := range w.Send {
		switch w.Send[i].Kind {
		case journal.StartMessage:
			r.res.Starts = true
		case journal.ResultMessage: // its receiver is no entity: see commit
		default:
			r.res.Woken = append(r.res.Woken, w.Send[i].To)
		}
	}
	instance.WriteLog(r.worker.Logger, r.target.Ref, r.log)
}

// answer answers calls with their outcomes, as soon as these are durable.
func (r *run) answer(calls []*call.Call) {
	for _, c := range calls {
		if reason := r.replies[c].parked; reason != nil {
			r.res.Answers[c] = r.worker.Parked.Answer(r.job.ID, c, reason)
			continue
		}
		r.res.Answers[c] = call.Answer{Outcome: r.replies[c].outcome}
	}
}
