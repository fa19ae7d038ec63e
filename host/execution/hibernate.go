package execution

import (
	"context"
	"errors"
	"math"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Bounds of states that the host has in its hands at the same time. They are large, and not part of
// the budget: they are needed when memory is short. A state that finds no place is not saved; a
// guest that is to be restored waits.
const (
	maxSaving    = 8
	maxRestoring = 8
)

// hibernating is a state that is about to be saved. It has all but the guest's part, and
// the ops not encoded yet: that is done without a lock.
type hibernating struct {
	id      journal.ID
	chain   journal.RunID
	state   *hibernation.State
	pending []op.Op // copies; their bodies do not change
}

// hibernate returns the state of an idle run to save besides its guest; nil if that is not worth
// it, or if the run is in the middle of something: outcomes that are not journaled, numbers that
// are reserved, steps that are held after a move. The caller has the run to itself.
func (r *run) hibernate(worth func(seq, saved uint64) bool) *hibernating {
	if r.guest == nil || r.row == nil || !r.begun || r.pendingWrite != nil || r.row.State != journal.Running {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &r.ledger
	seq := l.delivered
	if !worth(seq, r.savedSeq) || seq < r.row.MovedAt {
		return nil
	}
	if len(l.reserved)+len(l.committed)+len(l.attempts)+len(l.held)+len(l.heldAttempts) > 0 {
		return nil
	}
	s := &hibernation.State{Run: r.run, Digest: r.row.Digest, Seq: seq, Turn: l.turn, At: l.clock, Section: l.section}
	h := &hibernating{id: r.id, chain: r.row.Chain, state: s, pending: make([]op.Op, 0, l.ops.Len())}
	for o := range l.ops.All() {
		if o.Settled() {
			return nil
		}
		h.pending = append(h.pending, *o)
	}
	r.savedSeq = seq // if that fails, it is tried again after further entries
	return h
}

// save adds the guest's part and has the state committed, beside all else. Nothing waits
// for it, and nothing is lost if it fails.
func (x *Executions) save(h *hibernating, g Guest) {
	if h == nil {
		return
	}
	if !x.saving.TryAcquire(1) {
		x.metrics.hibernated.WithLabelValues("too many").Inc()
		return
	}
	body, err := x.encode(h, g)
	if err != nil {
		x.saving.Release(1)
		x.metrics.hibernated.WithLabelValues("not possible").Inc()
		return
	}
	commit := func() {
		defer x.saving.Release(1)
		w := journal.Write{ID: h.id, Run: h.state.Run, Chain: h.chain, Hibernate: &journal.Hibernated{Seq: h.state.Seq, Body: body}}
		if _, err := x.Committer.Commit(w); err != nil {
			x.metrics.hibernated.WithLabelValues("failed").Inc()
			return
		}
		x.metrics.hibernated.WithLabelValues("saved").Inc()
		x.metrics.hibernatedBytes.Add(float64(len(body)))
	}
	if x.EvictAlways {
		commit() // so that the next turn finds it
	} else if !x.group.Go(commit) {
		x.saving.Release(1)
	}
}

func (x *Executions) encode(h *hibernating, g Guest) (_ []byte, err error) {
	if h.state.Guest, err = g.Save(); err != nil {
		return nil, err
	}
	for i := range h.pending {
		p, err := hibernation.PendingOf(&h.pending[i])
		if err != nil {
			return nil, err
		}
		h.state.Pending = append(h.state.Pending, p)
	}
	return x.codec.Encode(h.state)
}

// rebuild brings a guest to where the journal ends, or to an entry: from its saved state if there
// is one, else from the start. The player tells the outcome.
func (r *run) rebuild(
	ctx context.Context, upTo uint64, before journal.Waiting, setUp func(*replay.Player) tookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	pages := r.execs.pages(r.row.RunKey())
	defer pages.release()
	reader := replay.NewReader(pages.read, upTo)
	long := r.mayHaveState(ctx, reader)
	if pages.isLarge() { // the instance is waited for without it
		pages.release()
		reader = replay.NewReader(pages.read, upTo)
	}
	if long {
		restored, player, turn, err := r.rebuildFromState(ctx, upTo, before, setUp)
		if restored != nil || err != nil {
			return restored, player, turn, err
		}
	}
	player := replay.NewPlayer(reader, r.row.MovedAt, before)
	turn, err := r.replay(ctx, player, setUp(player), r.deliverFrom(ctx, pages, reader))
	return reader, player, turn, err
}

// rebuildFromState does it from the saved state, if that is possible. Otherwise it returns
// no reader, and there is no guest.
func (r *run) rebuildFromState(
	ctx context.Context, upTo uint64, before journal.Waiting, setUp func(*replay.Player) tookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	if err := r.execs.restoring.Acquire(ctx, 1); err != nil {
		return replay.NewReader(nil, upTo), nil, guest.Turn{}, err // nothing was read
	}
	defer r.execs.restoring.Release(1)
	if state := r.savedState(ctx, upTo); state != nil {
		behind, player, turn, err := r.rebuildFrom(ctx, state, upTo, before, setUp)
		if err == nil {
			err = r.compareRestored(ctx, upTo)
		}
		if err == nil || !r.mayBeTheState(err) {
			return behind, player, turn, err
		}
		r.dropGuest()
		r.log.Warn("a saved state is of no use; replaying", "after", state.Seq, "error", err)
		r.execs.metrics.restored.WithLabelValues("no use").Inc()
	}
	return nil, nil, guest.Turn{}, nil
}

// mayHaveState tells whether there may be a saved state. Short journals are replayed as
// fast.
func (r *run) mayHaveState(ctx context.Context, reader *replay.Reader) bool {
	if !r.execs.Hibernation.Enabled() {
		return false
	}
	long, err := reader.IsLong(ctx, r.execs.Hibernation.Entries)
	return err == nil && long // the replay meets the error again
}

// savedState reads the saved state of the run; nil if there is none that could be used.
func (r *run) savedState(ctx context.Context, upTo uint64) *hibernation.State {
	found, err := r.execs.Store.Hibernated(ctx, r.row.RunKey())
	if err != nil || found.Seq > upTo || found.Seq < r.row.MovedAt {
		return nil
	}
	state, err := r.execs.codec.Decode(found.Body)
	if err != nil {
		r.log.Warn("a saved state cannot be read; replaying", "after", found.Seq, "error", err)
		return nil
	}
	if state.Run != r.run || state.Digest != r.row.Digest || state.Seq != found.Seq {
		return nil
	}
	r.savedSeq = state.Seq
	return state
}

// rebuildFrom restores a guest, and delivers the entries it has not seen.
func (r *run) rebuildFrom(
	ctx context.Context, s *hibernation.State, upTo uint64, before journal.Waiting, setUp func(*replay.Player) tookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	pages := r.execs.pages(r.row.RunKey())
	defer pages.release()
	reader := replay.NewReaderBehind(pages.read, upTo, replay.Position{Seq: s.Seq, Turn: s.Turn, At: s.At})
	pending, err := s.Ops()
	if err != nil {
		return reader, nil, guest.Turn{}, err
	}
	player := replay.NewPlayerBehind(reader, pending, s.Section, before)
	r.execs.Fault.Pass(faultpoint.Replay)
	turn, err := play(ctx, player, setUp(player),
		func() (guest.Turn, error) { return guest.Turn{}, r.restoreGuest(ctx, s.Guest) },
		r.deliverFrom(ctx, pages, reader))
	if err == nil {
		r.releaseOps() // the instance counts them
		r.execs.metrics.restored.WithLabelValues("restored").Inc()
	}
	return reader, player, turn, err
}

// compareRestored replays the run that was restored as well, and hands both to the comparing hook.
// It is for tests.
func (r *run) compareRestored(ctx context.Context, upTo uint64) error {
	if r.execs.CompareRestored == nil {
		return nil
	}
	restored := r.takeGuest()
	saved, err := restored.Save()
	restored.Close()
	if errors.Is(err, wasm.ErrNoState) {
		// It has finished.
		saved, err = nil, nil
	}
	if err != nil {
		return err
	}
	pages := r.execs.pages(r.row.RunKey())
	defer pages.release()
	reader := replay.NewReader(pages.read, upTo)
	if _, err := r.replay(ctx, replay.NewPlayer(reader, r.row.MovedAt, journal.Waiting{}), nil, r.deliverFrom(ctx, pages, reader)); err != nil {
		return err
	}
	replayed, err := r.guest.Save()
	if saved == nil || err != nil {
		return nil
	}
	r.execs.CompareRestored(saved, replayed)
	return nil
}

// mayBeTheState tells whether a failure to go on from a saved state could be due to the state.
// Failures of the host or the store would hit a replay as well.
func (r *run) mayBeTheState(err error) bool {
	if r.execs.Host.Over() || abi.CodeOf(err).Info().Blame == abi.BlameMoment {
		return false
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, journal.ErrUnavailable) && !errors.Is(err, journal.ErrCorrupt)
}

// restoreGuest makes the guest of the run out of a saved state, as soon as there is
// memory for it.
func (r *run) restoreGuest(ctx context.Context, s *guest.Saved) error {
	opening, err := r.execs.OpenGuest(ctx, r.row)
	if err != nil {
		return err
	}
	bytes := max(opening.Bytes, s.Bytes())
	_, err = r.execs.admitGuest(ctx, r.row.Namespace, bytes, r.admit, r.keepGuest, opening.restoring(s), func(context.Context, Guest) (guest.Turn, error) {
		return guest.Turn{}, nil
	})
	if err == nil {
		r.fuel = s.Fuel()
	}
	return err
}

// all is the end of a journal that is read as far as it goes.
const all = math.MaxUint64
