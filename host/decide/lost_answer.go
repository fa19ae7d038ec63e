package decide

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Writer commits writes until it is decided whether they took effect.
type Writer struct {
	Clock  clockwork.Clock
	Commit func(w journal.Write) (journal.Result, error)
	Host   *hoststate.State
	Logger *slog.Logger
}

// Look interprets the refusal of a repeat, an error or Existed, for both tries: the answer for the
// caller, or [journal.ErrUndecided] if the refusal may have come before the effect of the first.
type Look func(res journal.Result, refusal error) (journal.Result, error)

// Existing is the look of a write that may find its row there, put by itself or by another write. One whose run is gone
// has not taken effect, unless the run was there in between, and cannot any more; nor has one for which there is no
// room, since a store looks for the row first.
func Existing(res journal.Result, refusal error) (journal.Result, error) {
	if refusal != nil && !errors.Is(refusal, journal.ErrNotFound) && !errors.Is(refusal, journal.ErrInboxFull) {
		refusal = journal.ErrUndecided
	}
	return res, refusal
}

// Do commits a write, and repeats it if the answer is lost.
func (d Writer) Do(ctx context.Context, w journal.Write, look Look) (journal.Result, error) {
	res, err := d.Commit(w)
	if errors.Is(err, journal.ErrUndecided) {
		return d.Repeat(ctx, w, look)
	}
	return res, err
}

// Repeat decides a write whose answer was lost. The error is still [journal.ErrUndecided] if ctx ends before that; if
// the host ends, it is the host's reason.
func (d Writer) Repeat(ctx context.Context, w journal.Write, look Look) (journal.Result, error) {
	for range timer.Tries(ctx, d.Clock) {
		res, err := d.Commit(w)
		if res.Existed || err != nil && !errors.Is(err, journal.ErrFenced) && !errors.Is(err, journal.ErrUndecided) {
			res, err = look(res, err)
		}
		if !errors.Is(err, journal.ErrUndecided) {
			return res, err
		}
		if d.Host.Over() {
			return journal.Result{}, d.Host.EndReason()
		}
		d.Logger.Warn("a commit is in doubt; trying again to decide it", "id", w.ID, "error", err)
	}
	if d.Host.Over() {
		return journal.Result{}, d.Host.EndReason()
	}
	return journal.Result{}, journal.ErrUndecided
}
