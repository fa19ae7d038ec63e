package rebuild

import (
	"context"

	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// TookTurn is told of each turn of a replay, behind the player; nil if no one is.
type TookTurn func(guest.Turn)

// Play runs a fresh guest through a journal: the same batches, the same clock. It returns the last
// turn; the player knows the steps the guest waits for.
func Play(
	ctx context.Context, player *replay.Player, took TookTurn, begin func() (guest.Turn, error),
	deliver func([]journal.Entry) (guest.Turn, error),
) (guest.Turn, error) {
	turn, err := begin()
	for err == nil {
		player.Turn(turn.Issued, turn.Cancelled)
		if took != nil {
			took(turn)
		}
		var due []journal.Entry
		if due, err = player.Next(ctx, turn.Outcome != nil); err != nil || len(due) == 0 {
			break
		}
		turn, err = deliver(due)
	}
	return turn, err
}
