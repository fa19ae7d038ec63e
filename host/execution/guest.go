package execution

import (
	"context"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/rebuild"
	"github.com/cruster/cruster/host/execution/sharedledger"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// ensureGuest replays an execution whose instance was dropped, up to the last delivery it saw.
// Pending ops are known and stay as they are.
func (r *run) ensureGuest(ctx context.Context) error {
	if r.instance.Warm() {
		return nil
	}
	delivered := sharedledger.Look(r.ledger, (*ledger.Ledger).Position).Seq
	_, player, turn, err := r.deps.states.Rebuilder(r.row, r.log, r.instance).Rebuild(
		ctx,
		delivered,
		journal.Waiting{},
		func(player *replay.Player) rebuild.TookTurn {
			player.EndIsKnown() // see StillWaiting
			return nil
		},
	)
	if err != nil {
		return err
	}
	pending := sharedledger.Look(r.ledger, (*ledger.Ledger).Pending)
	if turn.Outcome != nil {
		return replay.FinishedInsteadOfWaiting(pending)
	}
	return replay.StillWaiting(pending, player.Pending())
}

// prepare makes an instance for a run that will need it soon. If that fails, it will be tried again when it is needed,
// and then be seen to.
func (r *run) prepare() {
	if r.life.begun() && r.row.State == journal.Running && !r.deps.Host.Draining() {
		ctx, end := r.cancelable()
		defer end()
		if err := r.ensureGuest(ctx); err != nil {
			r.instance.Drop()
		}
	}
}
