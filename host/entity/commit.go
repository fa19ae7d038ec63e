package entity

import (
	"bytes"
	"context"
	"errors"

	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/journal"
)

// isEmpty tells whether a write changes nothing.
func isEmpty(w *journal.Write) bool {
	return w.Entity == nil && !w.Destroy && w.Lock == nil && !w.Unlock && len(w.Receipts)+len(w.Send)+len(w.Take)+len(w.Park)+len(w.Unpark) == 0
}

// commit makes the effects of a batch durable. An error means that none of them took effect, unless
// the host has ended.
func (b *batch) commit(w journal.Write) error {
	if isEmpty(&w) {
		return nil
	}
	b.entities.Fault.Pass(faultpoint.EntityBeforeCommit)
	_, err := b.entities.Committer.Commit(w)
	b.entities.metrics.commits.WithLabelValues(metric.Result(err)).Inc()
	if errors.Is(err, journal.ErrUndecided) {
		_, err = b.entities.decider().Repeat(b.entities.Host.Context(), w, b.took(&w))
	}
	if err != nil {
		return err
	}
	b.entities.Fault.Pass(faultpoint.EntityAfterCommit)
	b.entities.tellCallers(&w)
	return nil
}

// took looks for the witness of a write whose answer was lost.
func (b *batch) took(w *journal.Write) decide.Look {
	return func(res journal.Result, refusal error) (journal.Result, error) {
		took, err := b.entities.tookEffect(b.entities.Host.Context(), w)
		switch {
		case took:
			return res, nil
		case err == nil && b.isRepeated(w):
			return res, refusal // a receipt of another stands in the way of both
		default:
			return res, journal.ErrUndecided
		}
	}
}

// tookEffect tells whether the witness of a write is there. A receipt tells best: a batch that
// finds that a message was performed before takes that out, too.
func (x *Entities) tookEffect(ctx context.Context, w *journal.Write) (bool, error) {
	if len(w.Receipts) == 0 {
		_, err := x.Store.Message(ctx, journal.Receiver{ID: w.ID}, w.Take[0])
		if errors.Is(err, journal.ErrNotFound) {
			return true, nil
		}
		return false, err
	}
	ours := &w.Receipts[0]
	found, err := x.Store.Receipt(ctx, w.ID, ours.Origin)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return same(found, ours), nil
}

// same reports whether a receipt in the store equals ours.
func same(found, ours *journal.Receipt) bool {
	return found.At == ours.At && bytes.Equal(found.Value, ours.Value)
}

// withWitness has a write have something that can be written once only.
func withWitness(w *journal.Write, now int64) {
	if !isEmpty(w) && len(w.Take)+len(w.Receipts) == 0 {
		w.Receipts = append(w.Receipts, witness(now))
	}
}

// witness is a receipt that no other write has.
func witness(now int64) journal.Receipt { return journal.Receipt{Origin: journal.NewOrigin(), At: now} }
