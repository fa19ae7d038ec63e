package entity

import (
	"cmp"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/journal"
)

// Ran is the result of an invocation of an entity's code.
type Ran struct {
	abi.OperationsReply
	Log []guest.LogLine
}

// run is one pass through the calls of a batch: the effects of the calls, none of them durable or
// visible outside the host.
type run struct {
	*batch
	target  Target
	at      int64
	state   []byte
	version uint32
	replies map[*call]*reply
	log     []guest.LogLine
	tooLong bool // an invocation took too long, and the calls in front of the one to blame are run again
}

// reply is what one call came to.
type reply struct {
	outcome abi.Outcome
	sent    []journal.Sent
	parked  *abi.Error // why it is parked; or nil
}

func newRun(b *batch) *run {
	r := &run{batch: b, at: b.entities.now(), replies: map[*call]*reply{}}
	r.state, r.version = b.state.state()
	return r
}

// perform performs calls against the state of the last commit. An error is the host's
// trouble, or the deployment's; no operation is to blame for it.
func (r *run) perform(calls []*call) error {
	if calls[0].kind == destroy {
		r.destroy(calls[0])
		return nil
	}
	var sound []*call
	for _, c := range calls {
		if c.damaged != nil {
			r.parkOrFail(c, c.damaged)
			continue
		}
		sound = append(sound, c)
	}
	if len(sound) == 0 {
		return nil
	}
	if err := r.findCode(sound[0].ref); err != nil {
		return err
	}
	known := sound[:0]
	for _, c := range sound {
		if _, err := r.target.Type.Operation(c.operation); err != nil {
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
func (r *run) performed(calls []*call) (done []*call) {
	for _, c := range calls {
		if r.replies[c] != nil {
			done = append(done, c)
		}
	}
	return done
}

// findCode finds the code of the entity as it is now, and refuses code that cannot serve the state.
func (r *run) findCode(ref Ref) (err error) {
	if r.target, err = r.entities.target(r.entities.Host.Context(), ref); err != nil {
		return err
	}
	if !r.target.Type.Stateful() {
		return abi.Errorf(abi.CodeUnknownOperation, "the entities %q have no state any more", ref.Type)
	}
	return r.batch.state.readable(r.target)
}

// destroy deletes the state. No code runs.
func (r *run) destroy(c *call) {
	if r.state == nil {
		r.fail(c, abi.Errorf(abi.CodeEntityNotFound, "there is no entity %s", c.ref))
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
func (r *run) operate(calls []*call) error {
	if len(calls) == 0 {
		return nil
	}
	err := r.invoke(calls)
	if err == nil || !isOfGuest(err) {
		return err
	}
	in := endOf(err)
	switch {
	case len(calls) == 1:
		r.blame(calls[0], err)
		return nil
	case abi.CodeOf(err) == abi.CodeGuestTimeout:
		return r.operateBefore(calls, in, err)
	case in != nil:
		return r.operateParts(calls[:in.operation], calls[in.operation:in.operation+1], calls[in.operation+1:])
	default:
		half := (len(calls) + 1) / 2
		return r.operateParts(calls[:half], calls[half:])
	}
}

func (r *run) operateParts(parts ...[]*call) error {
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
// limit. Each call has a batch of its own then ([entity.putBack]), which costs the limit once more for
// each that never ends, and little for the others. So have the calls of a guest with a false report: the
// calls that it reported as done take too long as well.
func (r *run) operateBefore(calls []*call, in *endedIn, err error) error {
	if in == nil || in.operation == 0 && !in.whole || r.tooLong {
		return errTooLong
	}
	r.tooLong = true
	if err := r.operate(calls[:in.operation]); err != nil {
		return err
	}
	if in.whole {
		r.blame(calls[in.operation], err)
	}
	return errOthers
}

// blame fails the call that has ended an invocation.
func (r *run) blame(c *call, err error) {
	r.entities.metrics.crashes.Inc()
	failure := crashed(c, err)
	r.entities.logCrash(c, failure)
	r.parkOrFail(c, failure)
}

// logCrash logs that the code of an operation has crashed: its caller is told, and its author looks here.
func (x *Entities) logCrash(c *call, err *abi.Error) {
	x.Logger.Warn("an operation crashed", "entity", c.ref.String(), "operation", c.operation, "code", err.Code, "error", guestlog.Error(err))
}

// parkOrFail records that a call could not be performed. A message is parked: its failure
// would reach no caller.
func (r *run) parkOrFail(c *call, err *abi.Error) {
	if c.sent {
		r.replies[c] = &reply{parked: err}
		return
	}
	r.fail(c, err)
}

// fail records that a call has failed, and has changed nothing.
func (r *run) fail(c *call, err *abi.Error) {
	if c.position != 0 && c.from.IsZero() {
		r.entities.Logger.Warn("an operation has failed whose sender does not wait for it", "entity", c.ref.String(), "operation", c.operation, "error", err)
	}
	r.replies[c] = &reply{outcome: abi.Outcome{Error: err}}
}

// invoke runs calls in one invocation, and takes over their effects.
func (r *run) invoke(calls []*call) error {
	body := &abi.Operations{State: r.state, Version: r.version}
	for _, c := range calls {
		body.Operations = append(body.Operations, abi.EntityCall{Operation: c.operation, Input: c.input})
	}
	ran, err := r.entities.Guests.Operations(r.entities.Host.Context(), r.target, body)
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
		if err := replies[i].outcome.Error; err != nil && isUnperformed(err) {
			r.parkOrFail(c, err)
		}
	}
	r.state, r.version = ran.State, ran.Version
	r.log = append(r.log, ran.Log...)
	return nil
}

// checkReply refuses a reply that cannot be made durable.
func checkReply(ran *Ran, operations int, t Target) error {
	switch {
	case len(ran.Replies) != operations:
		return abi.Errorf(abi.CodeGuestProtocol, "the module answered %d of %d operations", len(ran.Replies), operations)
	case len(ran.State) > maxState:
		return abi.Errorf(abi.CodePayloadTooLarge, "the state of %s has %d bytes, the limit is %d", t.Ref, len(ran.State), maxState)
	case ran.State != nil && ran.Version != t.Type.StateVersion:
		return abi.Errorf(abi.CodeGuestProtocol, "the module left a state of version %d, and its manifest says %d", ran.Version, t.Type.StateVersion)
	case ran.State != nil:
		if _, err := abi.Canonical(ran.State); err != nil {
			return abi.Errorf(abi.CodeGuestProtocol, "the state that the module left is not one msgpack value: %v", err)
		}
	}
	return nil
}

// accept checks what one operation answered and sent. An error is on its account.
func (r *run) accept(o *abi.OperationReply) (*reply, error) {
	if o.Error != nil {
		return &reply{outcome: outcomeOf(o)}, nil
	}
	if err := abi.CheckPayload("the result", o.Value); err != nil {
		return nil, err
	}
	sent, err := r.messages(o)
	if err != nil {
		return nil, err
	}
	return &reply{outcome: outcomeOf(o), sent: sent}, nil
}

// outcomeOf is the outcome of an operation. An error that has no code is the operation's own.
func outcomeOf(o *abi.OperationReply) abi.Outcome {
	if o.Error == nil {
		return abi.Outcome{Value: o.Value}
	}
	failure := *o.Error
	failure.Clamp()
	failure.Code = cmp.Or(failure.Code, abi.CodeOperationFailed)
	return abi.Outcome{Error: &failure}
}

// write is all that calls came to, in one write.
func (r *run) write(calls []*call) journal.Write {
	w := journal.Write{ID: r.id}
	after, changed := r.after()
	switch {
	case changed && after.row == nil:
		w.Destroy = true
	case changed:
		w.Entity = after.row
	}
	r.addReplies(&w, calls)
	w.Unlock = r.leftover && !isEmpty(&w)
	withWitness(&w, r.at)
	return w
}

// addReplies adds to a write what each of some calls came to, beside the state that they left.
func (r *run) addReplies(w *journal.Write, calls []*call) {
	for _, c := range calls {
		rep := r.replies[c]
		if rep.parked != nil {
			w.Park = append(w.Park, r.parked(c, rep.parked, r.at))
			continue
		}
		if c.position != 0 {
			w.Take = append(w.Take, c.position)
		}
		if c.leavesReceipt() {
			w.Receipts = append(w.Receipts, journal.Receipt{Origin: c.origin, From: c.from, At: r.at, Value: rep.outcome.Value, Error: rep.outcome.Error})
		}
		w.Send = append(append(w.Send, rep.sent...), c.answerTo(r.id, rep.outcome, r.at)...)
	}
}

// after is the snapshot once the write has taken effect.
func (r *run) after() (s *snapshot, changed bool) {
	return r.batch.state.next(r.target.Ref, r.state, r.version, r.at)
}

// letOut publishes the effects that are durable by now.
func (r *run) letOut(calls []*call, w journal.Write) {
	r.batch.state, _ = r.after()
	if w.Unlock {
		r.leftover, r.unlocked = false, true
	}
	r.entities.metrics.batches.Inc()
	r.entities.metrics.batched.Add(float64(len(calls)))
	r.answer(calls)
	for i := range w.Send {
		switch w.Send[i].Kind {
		case journal.StartMessage:
			r.starts = true
		case journal.ResultMessage: // its receiver is no entity: see commit
		default:
			r.woken = append(r.woken, w.Send[i].To)
		}
	}
	r.entities.writeLog(r.target.Ref, r.log)
}

// answer answers calls with their outcomes, as soon as these are durable.
func (r *run) answer(calls []*call) {
	for _, c := range calls {
		if reason := r.replies[c].parked; reason != nil {
			r.answers[c] = r.entities.isParkedNow(r.id, c, reason)
			continue
		}
		r.answers[c] = answer{outcome: r.replies[c].outcome}
	}
}

func (x *Entities) writeLog(ref Ref, lines []guest.LogLine) {
	log := x.Logger.With("entity", ref.String())
	for _, line := range lines {
		guestlog.Write(log, line.Level, []byte(line.Message))
	}
}

// isOfGuest reports whether an error is the guest's fault: an operation is to blame.
func isOfGuest(err error) bool {
	var refused *refusal
	return !errors.As(err, &refused) && !abi.IsOfHost(err)
}

// refusal is the error of a module that could not run any operation: it does not have the
// entity, or cannot read the state. Other code could.
type refusal struct{ reason *abi.Error }

// Error implements error.
func (r *refusal) Error() string { return r.reason.Error() }

// Unwrap yields the *abi.Error.
func (r *refusal) Unwrap() error { return r.reason }

// crashed is the outcome of an operation that did not come to one itself.
func crashed(c *call, err error) *abi.Error {
	coded := abi.AsError(err)
	if !abi.IsOfGuest(coded) {
		return coded // it names the operation's mistake
	}
	return abi.Errorf(abi.CodeOperationCrashed, "operation %q: %s", c.operation, coded.Message).WithHint("%s", coded.Hint)
}
