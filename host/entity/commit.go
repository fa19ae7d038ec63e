package entity

import (
	"bytes"
	"errors"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/metric"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// isEmpty tells whether a write changes nothing.
func isEmpty(w *journal.Write) bool {
	return w.Entity == nil && !w.Destroy && w.Lock == nil && !w.Unlock && len(w.Receipts)+len(w.Send)+len(w.Take)+len(w.Park)+len(w.Unpark) == 0
}

// commit makes what a batch came to durable. An error says that nothing of it took effect,
// unless the host is over.
func (b *batch) commit(w journal.Write) error {
	if isEmpty(&w) {
		return nil
	}
	b.Fault.Pass(faultpoint.EntityBeforeCommit)
	_, err := b.Committer.Commit(w)
	b.metrics.commits.WithLabelValues(metric.Result(err)).Inc()
	if errors.Is(err, journal.ErrUndecided) {
		err = b.decide(w)
	}
	if err != nil {
		return err
	}
	b.Fault.Pass(faultpoint.EntityAfterCommit)
	b.tellCallers(&w)
	return nil
}

// decide finds out what became of a write whose answer was lost. It may take effect later:
// so the same one is tried until its witness is there, written by one of the two. See the
// package comment.
func (b *batch) decide(w journal.Write) error {
	for range timer.Tries(b.Host.Context(), b.Clock) {
		_, err := b.Committer.Commit(w)
		if err == nil || errors.Is(err, journal.ErrFenced) {
			return err
		}
		if !errors.Is(err, journal.ErrUndecided) {
			took, lerr := b.tookEffect(&w)
			if took {
				return nil
			}
			if lerr == nil && b.isRepeated(&w) {
				return err // a receipt of another stands in the way of both
			}
		}
		b.Logger.Warn("a commit is in doubt; trying again to decide it", "id", b.id, "error", err)
	}
	return b.Host.EndReason()
}

// tookEffect tells whether the witness of a write is there. A receipt tells best: a batch that
// finds that a message was performed before takes that out, too.
func (b *batch) tookEffect(w *journal.Write) (bool, error) {
	if len(w.Receipts) == 0 {
		_, err := b.Store.Message(b.Host.Context(), journal.Receiver{ID: b.id}, w.Take[0])
		if errors.Is(err, journal.ErrNotFound) {
			return true, nil
		}
		return false, err
	}
	ours := &w.Receipts[0]
	found, err := b.Store.Receipt(b.Host.Context(), b.id, ours.Origin)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return same(found, ours), nil
}

// same tells whether a receipt in the store is one that was to be written.
func same(found, ours *journal.Receipt) bool {
	return found.At == ours.At && bytes.Equal(found.Value, ours.Value)
}

// withWitness has a write have something that can be written once only.
func withWitness(w *journal.Write, now int64) {
	if !isEmpty(w) && len(w.Take)+len(w.Receipts) == 0 {
		w.Receipts = append(w.Receipts, journal.Receipt{Origin: journal.NewOrigin(), At: now})
	}
}
