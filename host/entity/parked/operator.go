package parked

import (
	"context"
	"log/slog"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Inboxes tells entities of messages in their inboxes.
type Inboxes interface {
	// Mail says that there is a message; position is 0 if it is not known.
	Mail(id journal.ID, position uint64)
}

// Operator lists, retries and drops parked messages for people.
type Operator struct {
	Commits *commit.Writer
	Host    *hoststate.State
	Inboxes Inboxes
	Logger  *slog.Logger
	Store   journal.ParkedReader
}

// List lists parked messages.
func (o *Operator) List(ctx context.Context, f journal.ParkedFilter) ([]journal.ParkedMessage, error) {
	found, err := o.Store.Parked(ctx, f)
	if err != nil {
		return nil, journal.Coded("list parked messages", err)
	}
	return found, nil
}

// OfEntity lists the parked messages of an entity: those at some positions, or all if there are none.
func (o *Operator) OfEntity(
	ctx context.Context, ref target.Ref, positions []uint64,
) (found []journal.ParkedMessage, err error) {
	f := journal.ParkedFilter{Entity: ref.ID(), Limit: journal.MaxParked}
	for {
		page, err := o.List(ctx, f)
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

func notParked(ref target.Ref, position uint64) *abi.Error {
	return abi.Errorf(abi.CodeNotParked, "no message of %s is parked at position %d", ref, position)
}

// Retry puts parked messages of an entity back into its inbox, where they were: those at some positions, or
// all if there are none. It returns how many, once that is durable.
func (o *Operator) Retry(ctx context.Context, ref target.Ref, positions []uint64) (int, error) {
	return o.unpark(
		ctx,
		ref,
		positions,
		faultpoint.EntityReceiveBefore,
		faultpoint.EntityReceiveAfter,
		func(w *journal.Write, m *journal.ParkedMessage) {
			w.Unpark = append(w.Unpark, m.Position)
		},
	)
}

// Drop deletes parked messages of an entity: the ones at the given positions, or all if there are
// none. A message that its sender may repeat leaves a receipt, so that the repetition is not
// performed. It returns the number of dropped messages.
func (o *Operator) Drop(ctx context.Context, ref target.Ref, positions []uint64) (int, error) {
	now := o.Commits.Now()
	return o.unpark(
		ctx,
		ref,
		positions,
		faultpoint.EntityBeforeCommit,
		faultpoint.EntityAfterCommit,
		func(w *journal.Write, m *journal.ParkedMessage) {
			w.Unpark, w.Take = append(w.Unpark, m.Position), append(w.Take, m.Position)
			if m.Message.Repeatable {
				w.Receipts = append(w.Receipts, journal.Receipt{
					Origin: m.Message.Origin, From: m.Message.From, At: now, Error: droppedError(ref, m),
				})
			}
			o.Logger.Warn(
				"an operator dropped a parked message", "entity", ref.String(), "namespace", ref.Namespace, "operation",
				m.Message.Name, "code", m.Reason.Code,
			)
		},
	)
}

func droppedError(ref target.Ref, m *journal.ParkedMessage) *abi.Error {
	err := abi.Errorf(
		abi.CodeDropped, "%q of %s was not performed, and an operator dropped it: %s: %s", m.Message.Name, ref,
		m.Reason.Code, m.Reason.Message,
	)
	err.Clamp()
	return err
}

// unpark commits the fate of parked messages, in few writes, and tells the entity.
func (o *Operator) unpark(
	ctx context.Context, ref target.Ref, positions []uint64, before, after string,
	add func(*journal.Write, *journal.ParkedMessage),
) (int, error) {
	if err := o.Host.Accepting(); err != nil {
		return 0, err
	}
	found, err := o.OfEntity(ctx, ref, positions)
	if err != nil {
		return 0, err
	}
	done := 0
	for page := range slices.Chunk(found, journal.MaxParked) {
		w := journal.Write{ID: ref.ID(), Receipts: []journal.Receipt{commit.Witness(o.Commits.Now())}}
		for i := range page {
			add(&w, &page[i])
		}
		o.Commits.Fault.Pass(before)
		if _, err := o.Commits.Decider().Do(ctx, w, o.unparked(ctx, ref, &w)); err != nil {
			o.Inboxes.Mail(ref.ID(), 0) // it may have taken effect
			return done, journal.Coded("unpark messages of "+ref.String(), err)
		}
		o.Commits.Fault.Pass(after)
		done += len(page)
		for i := range page {
			if len(w.Take) == 0 {
				o.Inboxes.Mail(ref.ID(), page[i].Position)
			}
		}
	}
	return done, nil
}

// unparked looks for the witness of a write that unparks messages. Without one, messages that are not parked any
// more are so by the act of another operator, and the write can take no effect.
func (o *Operator) unparked(ctx context.Context, ref target.Ref, w *journal.Write) decide.Look {
	return func(res journal.Result, _ error) (journal.Result, error) {
		_, gone := o.OfEntity(ctx, ref, w.Unpark) // before the witness: they change together
		switch took, err := o.Commits.TookEffect(ctx, w); {
		case took:
			return res, nil
		case err == nil && abi.CodeOf(gone) == abi.CodeNotParked:
			return res, gone
		default:
			return res, journal.ErrUndecided
		}
	}
}

// InboxFull refuses a message to an entity whose inbox takes none.
func (o *Operator) InboxFull(ctx context.Context, c *call.Call) error {
	parked, err := o.OfEntity(ctx, c.Ref, nil)
	if err != nil {
		return err
	}
	bytes := 0
	for i := range parked {
		bytes += parked[i].Message.Bytes
	}
	if len(parked) < journal.MaxParked && bytes < journal.MaxParkedBytes {
		return abi.Errorf(abi.CodeMailboxFull, "the inbox of %s is full: %q was not accepted", c.Ref, c.Operation)
	}
	return abi.Errorf(
		abi.CodeMailboxFull, "%d messages of %s are parked, with %d bytes: %q was not accepted", len(parked), c.Ref,
		bytes, c.Operation,
	).
		WithHint(
			"'cruster-host entity parked' shows why they could not be performed. Retry or drop them, then send again.",
		)
}
