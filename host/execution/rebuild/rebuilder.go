package rebuild

import (
	"context"
	"log/slog"
	"math"

	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/replay"
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
