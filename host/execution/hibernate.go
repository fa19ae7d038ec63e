package execution

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
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

// hibernating is a state that is about to be saved. It has all but the guest's part, and the ops not encoded yet: that
// is done without a lock.
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
	if r.instance.guest == nil || r.row == nil || !r.life.begun() || r.pendingWrite != nil ||
		r.row.State != journal.Running {
		return nil
	}
	var h *hibernating
	r.ledger.with(func(l *ledger.Ledger) {
		at := l.Position()
		if !worth(at.Seq, r.instance.savedSeq) || at.Seq < r.row.MovedAt {
			return
		}
		section, pending, atRest := l.AtRest()
		if !atRest {
			return
		}
		s := &hibernation.State{
			Run: r.run, Digest: r.row.Digest, Seq: at.Seq, Turn: at.Turn, At: at.At, Section: section,
		}
		h = &hibernating{id: r.id, chain: r.row.Chain, state: s, pending: pending}
		r.instance.savedSeq = at.Seq // if that fails, it is tried again after further entries
	})
	return h
}

// save adds the guest's part and has the state committed, beside all else. Nothing waits for it, and nothing is lost if
// it fails.
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
		w := journal.Write{
			ID: h.id, Run: h.state.Run, Chain: h.chain, Hibernate: &journal.Hibernated{Seq: h.state.Seq, Body: body},
		}
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

// rebuilder brings the instance of a run to where its journal ends.
type rebuilder struct {
	execs    *Executions
	row      *journal.Execution
	log      *slog.Logger
	instance *instance
}

func (r *run) rebuilder() *rebuilder {
	return &rebuilder{execs: r.execs, row: r.row, log: r.log, instance: r.instance}
}

// rebuild brings a guest to where the journal ends, or to an entry: from its saved state if there
// is one, else from the start. The player tells the outcome.
func (b *rebuilder) rebuild(
	ctx context.Context, upTo uint64, before journal.Waiting, setUp func(*replay.Player) tookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	pages := newPages(b.execs.Deps, b.row.RunKey())
	defer pages.release()
	reader := replay.NewReader(pages.read, upTo)
	long := b.mayHaveState(ctx, reader)
	if pages.isLarge() { // the instance is waited for without it
		pages.release()
		reader = replay.NewReader(pages.read, upTo)
	}
	if long {
		restored, player, turn, err := b.rebuildFromState(ctx, upTo, before, setUp)
		if restored != nil || err != nil {
			return restored, player, turn, err
		}
	}
	player := replay.NewPlayer(reader, b.row.MovedAt, before)
	turn, err := b.replay(ctx, player, setUp(player), b.deliverFrom(ctx, pages, reader))
	return reader, player, turn, err
}

// rebuildFromState does it from the saved state, if that is possible. Otherwise it returns no reader, and there is no
// guest.
func (b *rebuilder) rebuildFromState(
	ctx context.Context, upTo uint64, before journal.Waiting, setUp func(*replay.Player) tookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	if err := b.execs.restoring.Acquire(ctx, 1); err != nil {
		return replay.NewReader(nil, upTo), nil, guest.Turn{}, err // nothing was read
	}
	defer b.execs.restoring.Release(1)
	if state := b.savedState(ctx, upTo); state != nil {
		behind, player, turn, err := b.rebuildFrom(ctx, state, upTo, before, setUp)
		if err == nil {
			err = b.compareRestored(ctx, upTo)
		}
		if err == nil || !b.mayBeTheState(err) {
			return behind, player, turn, err
		}
		b.instance.drop()
		b.log.Warn("a saved state is of no use; replaying", "after", state.Seq, "error", err)
		b.execs.metrics.restored.WithLabelValues("no use").Inc()
	}
	return nil, nil, guest.Turn{}, nil
}

// mayHaveState tells whether there may be a saved state. Short journals are replayed as fast.
func (b *rebuilder) mayHaveState(ctx context.Context, reader *replay.Reader) bool {
	if !b.execs.Hibernation.Enabled() {
		return false
	}
	long, err := reader.IsLong(ctx, b.execs.Hibernation.Entries)
	return err == nil && long // the replay meets the error again
}

// savedState reads the saved state of the run; nil if there is none that could be used.
func (b *rebuilder) savedState(ctx context.Context, upTo uint64) *hibernation.State {
	found, err := b.execs.Store.Hibernated(ctx, b.row.RunKey())
	if err != nil || found.Seq > upTo || found.Seq < b.row.MovedAt {
		return nil
	}
	state, err := b.execs.codec.Decode(found.Body)
	if err != nil {
		b.log.Warn("a saved state cannot be read; replaying", "after", found.Seq, "error", err)
		return nil
	}
	if state.Run != b.row.Run || state.Digest != b.row.Digest || state.Seq != found.Seq {
		return nil
	}
	b.instance.savedSeq = state.Seq
	return state
}

// rebuildFrom restores a guest, and delivers the entries it has not seen.
func (b *rebuilder) rebuildFrom(
	ctx context.Context, s *hibernation.State, upTo uint64, before journal.Waiting, setUp func(*replay.Player) tookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	pages := newPages(b.execs.Deps, b.row.RunKey())
	defer pages.release()
	reader := replay.NewReaderBehind(pages.read, upTo, replay.Position{Seq: s.Seq, Turn: s.Turn, At: s.At})
	pending, err := s.Ops()
	if err != nil {
		return reader, nil, guest.Turn{}, err
	}
	player := replay.NewPlayerBehind(reader, pending, s.Section, before)
	b.execs.Fault.Pass(faultpoint.Replay)
	turn, err := play(ctx, player, setUp(player),
		func() (guest.Turn, error) { return guest.Turn{}, b.instance.restore(ctx, b.row, s.Guest) },
		b.deliverFrom(ctx, pages, reader))
	if err == nil {
		b.instance.releaseOps() // the instance counts them
		b.execs.metrics.restored.WithLabelValues("restored").Inc()
	}
	return reader, player, turn, err
}

// replay runs a fresh guest through the journal, and keeps it.
func (b *rebuilder) replay(
	ctx context.Context, player *replay.Player, took tookTurn, deliver func([]journal.Entry) (guest.Turn, error),
) (guest.Turn, error) {
	b.execs.metrics.replays.Inc()
	b.execs.Fault.Pass(faultpoint.Replay)
	turn, err := play(ctx, player, took,
		func() (guest.Turn, error) { return b.instance.begin(ctx, b.row) }, deliver)
	if err == nil {
		b.instance.releaseOps()
	}
	return turn, err
}

// compareRestored replays the run that was restored as well, and hands both to the comparing hook.
// It is for tests.
func (b *rebuilder) compareRestored(ctx context.Context, upTo uint64) error {
	if b.execs.CompareRestored == nil {
		return nil
	}
	restored := b.instance.take()
	saved, err := restored.Save()
	restored.Close()
	if errors.Is(err, wasm.ErrNoState) {
		// It has finished.
		saved, err = nil, nil
	}
	if err != nil {
		return err
	}
	pages := newPages(b.execs.Deps, b.row.RunKey())
	defer pages.release()
	reader := replay.NewReader(pages.read, upTo)
	if _, err := b.replay(
		ctx, replay.NewPlayer(reader, b.row.MovedAt, journal.Waiting{}), nil, b.deliverFrom(ctx, pages, reader),
	); err != nil {
		return err
	}
	replayed, err := b.instance.guest.Save()
	if saved == nil || err != nil {
		return nil
	}
	b.execs.CompareRestored(saved, replayed)
	return nil
}

// mayBeTheState tells whether a failure to go on from a saved state could be due to the state.
// Failures of the host or the store would hit a replay as well.
func (b *rebuilder) mayBeTheState(err error) bool {
	if b.execs.Host.Over() || abi.CodeOf(err).Info().Blame == abi.BlameMoment {
		return false
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, journal.ErrUnavailable) &&
		!errors.Is(err, journal.ErrCorrupt)
}

// all is the end of a journal that is read as far as it goes.
const all = math.MaxUint64
