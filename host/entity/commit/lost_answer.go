package commit

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/journal"
)

// took looks for the witness of a write whose answer was lost.
func (w *Writer) took(write *journal.Write) decide.Look {
	return func(res journal.Result, refusal error) (journal.Result, error) {
		took, err := w.TookEffect(w.Host.Context(), write)
		switch {
		case took:
			return res, nil
		case err == nil && w.isRepeated(write):
			return res, refusal // a receipt of another stands in the way of both
		default:
			return res, journal.ErrUndecided
		}
	}
}

// TookEffect tells whether the witness of a write is there. A receipt tells best: a batch that
// finds that a message was performed before takes that out, too.
func (w *Writer) TookEffect(ctx context.Context, write *journal.Write) (bool, error) {
	if len(write.Receipts) == 0 {
		_, err := w.Store.Message(ctx, journal.Receiver{ID: write.ID}, write.Take[0])
		if errors.Is(err, journal.ErrNotFound) {
			return true, nil
		}
		return false, err
	}
	ours := &write.Receipts[0]
	found, err := w.Store.Receipt(ctx, write.ID, ours.Origin)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return Same(found, ours), nil
}

// isRepeated tells whether there is a receipt of the write that is not its own.
func (w *Writer) isRepeated(write *journal.Write) bool {
	ours := map[journal.Origin]*journal.Receipt{}
	for i := range write.Receipts {
		ours[write.Receipts[i].Origin] = &write.Receipts[i]
	}
	if len(ours) == 0 {
		return false
	}
	found, err := w.Store.Receipts(w.Host.Context(), write.ID, slices.Collect(maps.Keys(ours)))
	return err == nil && slices.ContainsFunc(found, func(r journal.Receipt) bool { return !Same(&r, ours[r.Origin]) })
}

// Same reports whether a receipt in the store equals ours.
func Same(found, ours *journal.Receipt) bool {
	return found.At == ours.At && bytes.Equal(found.Value, ours.Value)
}
