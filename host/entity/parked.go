package entity

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/journal"
)

// # Messages that cannot be performed
//
// The sender of a message was told that it is durable, and does not wait: its failure reaches no caller.
// So a message that comes to no outcome is parked, by the commit that a call in its place would leave
// its error with: see journal/parked.go. An error that the operation returns is an outcome.
//
// A reason that is known to be the message's (its operation crashes, it does not decode, its receiver is
// full, its workflow is refused) parks it at once. A reason that may be the deployment's or the host's (there is
// no such type, the code cannot read the state, the host panics) is tried maxMisfits times first: it
// concerns all messages of the entity, and often passes with the next push. Reasons that pass by the
// table of codes never park. A persisted call that a caller waits for, or waited for, fails where a message would be
// parked: its receipt is for the caller that repeats it.

// maxMisfits is how often a message is tried that fails for a reason which does not pass by itself, and
// may not be its own. With the delays between them that is about half a minute.
const maxMisfits = 10

// isUnperformed tells whether an error that the module answered with says that the operation came to no
// outcome of its own.
func isUnperformed(err *abi.Error) bool {
	switch err.Code {
	case abi.CodeOperationCrashed, abi.CodeOperationInput, abi.CodeUnknownOperation, abi.CodeBadBody, abi.CodeUnreadable:
		return true
	}
	return false
}

// parkedOf says why a message of an entity is parked.
func parkedOf(ref Ref, position uint64, reason *abi.Error, now int64, attempts int) journal.Parked {
	return journal.Parked{Position: position, Namespace: ref.Namespace, Type: ref.Type, Key: ref.Key, At: now, Attempts: attempts, Reason: reason}
}

// parked says why a message of the batch is parked. A message that does not decode does not name
// its entity; the row of the entity does, or other calls have. If not it is listed and dropped by
// the name of its entity all the same: a name yields the id.
func (b *batch) parked(c *call, reason *abi.Error, now int64) journal.Parked {
	ref := c.ref
	if ref == (Ref{}) && b.state != nil && b.state.row != nil {
		ref = Ref{Namespace: b.state.row.Namespace, Type: b.state.row.Type, Key: b.state.row.Key}
	}
	ref = cmp.Or(ref, b.name)
	return parkedOf(ref, c.position, reason, now, c.misfits+1)
}

// endHopeless ends the messages that have no answer and no attempts left: they are parked, and a call whose
// caller may be gone has failed. If that fails they are tried again.
func (b *batch) endHopeless(reason *abi.Error) {
	var hopeless []*call
	for _, c := range b.open() {
		if c.position != 0 && c.misfits+1 >= maxMisfits {
			hopeless = append(hopeless, c)
		}
	}
	if len(hopeless) == 0 {
		return
	}
	r := &run{batch: b, at: b.entities.now(), replies: map[*call]*reply{}} // the state may be unknown
	for _, c := range hopeless {
		r.parkOrFail(c, reason)
	}
	w := journal.Write{ID: b.id}
	r.addReplies(&w, hopeless)
	withWitness(&w, r.at)
	if err := guarded(func() error { return b.commit(w) }); err != nil {
		b.entities.Logger.Warn("messages that cannot be performed could not be parked; trying again", "id", b.id, "error", err)
		return
	}
	r.answer(hopeless)
	b.gaveUp = true
}

// countMisfits counts how often each message of the inbox has failed for a reason that does not pass. A
// missing type concerns all messages of a batch, so they are tried together, and parked together. A host
// fault may be on account of one: the messages of its batch are tried one by one from then on.
func (e *entity) countMisfits(done []*call, res batchResult) {
	misfit := res.err != nil && !abi.IsTransient(res.err)
	for _, c := range done {
		_, answered := res.answers[c]
		switch {
		case answered:
			delete(e.misfits, c.position)
		case misfit && c.position != 0:
			e.misfits[c.position]++
		}
	}
	if res.gaveUp {
		e.reading.failures = 0
	}
	e.faulty = (e.faulty || res.fault) && len(e.misfits) > 0
}

// cutMisfits shortens a batch of the next n calls, if the host has failed at one of their messages: such a
// message is alone in its batch, so that the attempts of the others are not used up.
func (e *entity) cutMisfits(n int) int {
	if !e.faulty {
		return n
	}
	if i := slices.IndexFunc(e.queue[:n], func(c *call) bool { return e.misfits[c.position] > 0 }); i >= 0 {
		return max(i, 1)
	}
	return n
}

// forgetMisfits forgets the attempts of messages that are not in the inbox, all of which are in
// memory. The commit that parked a message may have lost its answer, and a retry has all attempts
// again.
func (e *entity) forgetMisfits() {
	maps.DeleteFunc(e.misfits, func(position uint64, _ int) bool { return e.positions[position] == nil })
}

// parkCall parks the message of a call of an entity without a state.
func (x *Entities) parkCall(c *call, reason *abi.Error) (answer, error) {
	w := journal.Write{ID: c.ref.ID(), Park: []journal.Parked{parkedOf(c.ref, c.position, reason, x.now(), max(c.attempts, c.misfits))}}
	x.Fault.Pass(faultpoint.EntityBeforeCommit)
	if _, err := x.Committer.Commit(w); err != nil {
		// A commit before this one, whose answer was lost, may have parked it.
		_, lerr := x.Store.Message(x.Host.Context(), journal.Receiver{ID: c.ref.ID()}, c.position)
		if !errors.Is(lerr, journal.ErrNotFound) || errors.Is(err, journal.ErrFenced) {
			return answer{}, err
		}
	}
	x.Fault.Pass(faultpoint.EntityAfterCommit)
	return x.isParkedNow(c.ref.ID(), c, reason), nil
}

// isParkedNow is the answer to the waiters of a parked message.
func (x *Entities) isParkedNow(id journal.ID, c *call, reason *abi.Error) answer {
	x.notePark(id, c.ref, c.operation, reason)
	return answer{err: parkedError(c, reason), parked: true}
}

func parkedError(c *call, reason *abi.Error) *abi.Error {
	err := abi.Errorf(abi.CodeParked, "%q of %s was not performed, and its message is parked: %s: %s", c.operation, c.ref, reason.Code, reason.Message)
	err.Clamp()
	return err
}

// notePark counts a message that was parked, and logs why.
func (x *Entities) notePark(id journal.ID, ref Ref, what string, reason *abi.Error) {
	x.metrics.parked.WithLabelValues(string(reason.Code)).Inc()
	x.Logger.Warn("a message of an entity cannot be performed and is parked", "id", id, "entity", ref.String(), "namespace", ref.Namespace,
		"operation", what, "code", reason.Code, "error", guestlog.Error(reason))
}

// Parked lists parked messages.
func (x *Entities) Parked(ctx context.Context, f journal.ParkedFilter) ([]journal.ParkedMessage, error) {
	found, err := x.Store.Parked(ctx, f)
	if err != nil {
		return nil, journal.Coded("list parked messages", err)
	}
	return found, nil
}

// parkedOfEntity lists the parked messages of an entity: those at some positions, or all if there are none.
func (x *Entities) parkedOfEntity(ctx context.Context, ref Ref, positions []uint64) (found []journal.ParkedMessage, err error) {
	f := journal.ParkedFilter{Entity: ref.ID(), Limit: journal.MaxParked}
	for {
		page, err := x.Parked(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if len(positions) == 0 || slices.Contains(positions, page[i].Position) {
				found = append(found, page[i])
			}
		}
		if len(page) < f.Limit {
			break
		}
		f.After = &page[len(page)-1].Parked
	}
	for _, position := range positions {
		if !slices.ContainsFunc(found, func(m journal.ParkedMessage) bool { return m.Position == position }) {
			return nil, notParked(ref, position)
		}
	}
	return found, nil
}

func notParked(ref Ref, position uint64) *abi.Error {
	return abi.Errorf(abi.CodeNotParked, "no message of %s is parked at position %d", ref, position)
}

// Retry puts parked messages of an entity back into its inbox, where they were: those at some positions, or
// all if there are none. It returns how many, once that is durable.
func (x *Entities) Retry(ctx context.Context, ref Ref, positions []uint64) (int, error) {
	return x.unpark(ctx, ref, positions, faultpoint.EntityReceiveBefore, faultpoint.EntityReceiveAfter, func(w *journal.Write, m *journal.ParkedMessage) {
		w.Unpark = append(w.Unpark, m.Position)
	})
}

// Drop deletes parked messages of an entity: the ones at the given positions, or all if there are
// none. A message that its sender may repeat leaves a receipt, so that the repetition is not
// performed. It returns the number of dropped messages.
func (x *Entities) Drop(ctx context.Context, ref Ref, positions []uint64) (int, error) {
	now := x.now()
	return x.unpark(ctx, ref, positions, faultpoint.EntityBeforeCommit, faultpoint.EntityAfterCommit, func(w *journal.Write, m *journal.ParkedMessage) {
		w.Unpark, w.Take = append(w.Unpark, m.Position), append(w.Take, m.Position)
		if m.Message.Repeatable {
			w.Receipts = append(w.Receipts, journal.Receipt{Origin: m.Message.Origin, From: m.Message.From, At: now, Error: droppedError(ref, m)})
		}
		x.Logger.Warn("an operator dropped a parked message", "entity", ref.String(), "namespace", ref.Namespace, "operation", m.Message.Name, "code", m.Reason.Code)
	})
}

func droppedError(ref Ref, m *journal.ParkedMessage) *abi.Error {
	err := abi.Errorf(abi.CodeDropped, "%q of %s was not performed, and an operator dropped it: %s: %s", m.Message.Name, ref, m.Reason.Code, m.Reason.Message)
	err.Clamp()
	return err
}

// unpark commits the fate of parked messages, in few writes, and tells the entity.
func (x *Entities) unpark(ctx context.Context, ref Ref, positions []uint64, before, after string, add func(*journal.Write, *journal.ParkedMessage)) (int, error) {
	if err := x.Host.Accepting(); err != nil {
		return 0, err
	}
	found, err := x.parkedOfEntity(ctx, ref, positions)
	if err != nil {
		return 0, err
	}
	done := 0
	for page := range slices.Chunk(found, journal.MaxParked) {
		w := journal.Write{ID: ref.ID(), Receipts: []journal.Receipt{witness(x.now())}}
		for i := range page {
			add(&w, &page[i])
		}
		x.Fault.Pass(before)
		if _, err := x.decider().Do(ctx, w, x.unparked(ctx, ref, &w)); err != nil {
			x.actors.Post(ref.ID(), mail{}) // it may have taken effect
			return done, journal.Coded("unpark messages of "+ref.String(), err)
		}
		x.Fault.Pass(after)
		done += len(page)
		for i := range page {
			if len(w.Take) == 0 {
				x.actors.Post(ref.ID(), mail{page[i].Position})
			}
		}
	}
	return done, nil
}

// unparked looks for the witness of a write that unparks messages. Without one, messages that are not parked any
// more are so by the act of another operator, and the write can take no effect.
func (x *Entities) unparked(ctx context.Context, ref Ref, w *journal.Write) decide.Look {
	return func(res journal.Result, _ error) (journal.Result, error) {
		_, gone := x.parkedOfEntity(ctx, ref, w.Unpark) // before the witness: they change together
		switch took, err := x.tookEffect(ctx, w); {
		case took:
			return res, nil
		case err == nil && abi.CodeOf(gone) == abi.CodeNotParked:
			return res, gone
		default:
			return res, journal.ErrUndecided
		}
	}
}

// wasDropped is the error of a message that is sent again after an operator has dropped it.
func (x *Entities) wasDropped(ctx context.Context, c *call) error {
	receipt, err := x.Store.Receipt(ctx, c.ref.ID(), c.origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return journal.Coded("send "+c.operation+" to "+c.ref.String(), err)
	case receipt.Error != nil && receipt.Error.Code == abi.CodeDropped:
		return receipt.Error
	}
	return nil
}

// inboxFull refuses a message to an entity whose inbox takes none.
func (x *Entities) inboxFull(ctx context.Context, c *call) error {
	parked, err := x.parkedOfEntity(ctx, c.ref, nil)
	if err != nil {
		return err
	}
	bytes := 0
	for i := range parked {
		bytes += parked[i].Message.Bytes
	}
	if len(parked) < journal.MaxParked && bytes < journal.MaxParkedBytes {
		return abi.Errorf(abi.CodeMailboxFull, "the inbox of %s is full: %q was not accepted", c.ref, c.operation)
	}
	return abi.Errorf(abi.CodeMailboxFull, "%d messages of %s are parked, with %d bytes: %q was not accepted", len(parked), c.ref, bytes, c.operation).
		WithHint("'cruster-host entity parked' shows why they could not be performed. Retry or drop them, then send again.")
}
