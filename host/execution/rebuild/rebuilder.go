package rebuild

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Rebuilder brings the instance of a run to where its journal ends.
type Rebuilder struct {
	states   *States
	row      *journal.Execution
	log      *slog.Logger
	instance *instance.Instance
}

// Rebuilder brings an instance to where the journal of a row ends.
func (s *States) Rebuilder(row *journal.Execution, log *slog.Logger, in *instance.Instance) *Rebuilder {
	return &Rebuilder{states: s, row: row, log: log, instance: in}
}

// Rebuild brings a guest to where the journal ends, or to an entry: from its saved state if there
// is one, else from the start. The player tells the outcome.
func (b *Rebuilder) Rebuild(
	ctx context.Context, upTo uint64, before journal.Waiting, setUp func(*replay.Player) TookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	pages := NewPages(b.states.Delivering, b.states.Store, b.row.RunKey())
	defer pages.Release()
	reader := replay.NewReader(pages.Read, upTo)
	long := b.mayHaveState(ctx, reader)
	if pages.IsLarge() { // the instance is waited for without it
		pages.Release()
		reader = replay.NewReader(pages.Read, upTo)
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
func (b *Rebuilder) rebuildFromState(
	ctx context.Context, upTo uint64, before journal.Waiting, setUp func(*replay.Player) TookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	if err := b.states.restoring.Acquire(ctx, 1); err != nil {
		return replay.NewReader(nil, upTo), nil, guest.Turn{}, err // nothing was read
	}
	defer b.states.restoring.Release(1)
	if state := b.savedState(ctx, upTo); state != nil {
		behind, player, turn, err := b.rebuildFrom(ctx, state, upTo, before, setUp)
		if err == nil {
			err = b.compareRestored(ctx, upTo)
		}
		if err == nil || !b.mayBeTheState(err) {
			return behind, player, turn, err
		}
		b.instance.Drop()
		b.log.Warn("a saved state is of no use; replaying", "after", state.Seq, "error", err)
		b.states.restored.WithLabelValues("no use").Inc()
	}
	return nil, nil, guest.Turn{}, nil
}

// mayHaveState tells whether there may be a saved state. Short journals are replayed as fast.
func (b *Rebuilder) mayHaveState(ctx context.Context, reader *replay.Reader) bool {
	if !b.states.Hibernation.Enabled() {
		return false
	}
	long, err := reader.IsLong(ctx, b.states.Hibernation.Entries)
	return err == nil && long // the replay meets the error again
}

// savedState reads the saved state of the run; nil if there is none that could be used.
func (b *Rebuilder) savedState(ctx context.Context, upTo uint64) *hibernation.State {
	found, err := b.states.Store.Hibernated(ctx, b.row.RunKey())
	if err != nil || found.Seq > upTo || found.Seq < b.row.MovedAt {
		return nil
	}
	state, err := b.states.codec.Decode(found.Body)
	if err != nil {
		b.log.Warn("a saved state cannot be read; replaying", "after", found.Seq, "error", err)
		return nil
	}
	if state.Run != b.row.Run || state.Digest != b.row.Digest || state.Seq != found.Seq {
		return nil
	}
	b.instance.SavedSeq = state.Seq
	return state
}

// rebuildFrom restores a guest, and delivers the entries it has not seen.
func (b *Rebuilder) rebuildFrom(
	ctx context.Context, s *hibernation.State, upTo uint64, before journal.Waiting, setUp func(*replay.Player) TookTurn,
) (*replay.Reader, *replay.Player, guest.Turn, error) {
	pages := NewPages(b.states.Delivering, b.states.Store, b.row.RunKey())
	defer pages.Release()
	reader := replay.NewReaderBehind(pages.Read, upTo, replay.Position{Seq: s.Seq, Turn: s.Turn, At: s.At})
	pending, err := s.Ops()
	if err != nil {
		return reader, nil, guest.Turn{}, err
	}
	player := replay.NewPlayerBehind(reader, pending, s.Section, before)
	b.states.Fault.Pass(faultpoint.Replay)
	turn, err := Play(ctx, player, setUp(player),
		func() (guest.Turn, error) { return guest.Turn{}, b.instance.Restore(ctx, b.row, s.Guest) },
		b.deliverFrom(ctx, pages, reader))
	if err == nil {
		b.instance.ReleaseOps() // the instance counts them
		b.states.restored.WithLabelValues("restored").Inc()
	}
	return reader, player, turn, err
}

// replay runs a fresh guest through the journal, and keeps it.
func (b *Rebuilder) replay(
	ctx context.Context, player *replay.Player, took TookTurn, deliver func([]journal.Entry) (guest.Turn, error),
) (guest.Turn, error) {
	b.states.replays.Inc()
	b.states.Fault.Pass(faultpoint.Replay)
	turn, err := Play(ctx, player, took,
		func() (guest.Turn, error) { return b.instance.Begin(ctx, b.row) }, deliver)
	if err == nil {
		b.instance.ReleaseOps()
	}
	return turn, err
}

// compareRestored replays the run that was restored as well, and hands both to the comparing hook.
// It is for tests.
func (b *Rebuilder) compareRestored(ctx context.Context, upTo uint64) error {
	if b.states.CompareRestored == nil {
		return nil
	}
	restored := b.instance.Take()
	saved, err := restored.Save()
	restored.Close()
	if errors.Is(err, wasm.ErrNoState) {
		// It has finished.
		saved, err = nil, nil
	}
	if err != nil {
		return err
	}
	pages := NewPages(b.states.Delivering, b.states.Store, b.row.RunKey())
	defer pages.Release()
	reader := replay.NewReader(pages.Read, upTo)
	if _, err := b.replay(
		ctx, replay.NewPlayer(reader, b.row.MovedAt, journal.Waiting{}), nil, b.deliverFrom(ctx, pages, reader),
	); err != nil {
		return err
	}
	replayed, err := b.instance.Guest().Save()
	if saved == nil || err != nil {
		return nil
	}
	b.states.CompareRestored(saved, replayed)
	return nil
}

// mayBeTheState tells whether a failure to go on from a saved state could be due to the state.
// Failures of the host or the store would hit a replay as well.
func (b *Rebuilder) mayBeTheState(err error) bool {
	if b.states.Host.Over() || abi.CodeOf(err).Info().Blame == abi.BlameMoment {
		return false
	}
	return !errors.Is(err, context.Canceled) && !errors.Is(err, journal.ErrUnavailable) &&
		!errors.Is(err, journal.ErrCorrupt)
}

// All is the end of a journal that is read as far as it goes.
const All = math.MaxUint64

// deliverFrom delivers the entries of a page reader.
func (b *Rebuilder) deliverFrom(
	ctx context.Context, p *Pages, reader *replay.Reader,
) func([]journal.Entry) (guest.Turn, error) {
	return func(due []journal.Entry) (guest.Turn, error) {
		return b.instance.Deliver(p.HandingOver(ctx, reader, due), b.row.Namespace, due)
	}
}
