package entity

import (
	"context"
	"time"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// receiversPage is how many receivers are looked at together.
const receiversPage = 500

// Recover has all entities look into their inboxes that have messages there: those that a
// host left behind. It tries until it is done, or ctx ends.
func (x *Entities) Recover(ctx context.Context) {
	after, found := journal.ID{}, 0
	for delay := 50 * time.Millisecond; ctx.Err() == nil; {
		ids, err := x.Store.Receivers(ctx, after, receiversPage)
		for _, id := range ids {
			var woken bool
			if woken, err = x.wakeReceiver(ctx, id); err != nil {
				break
			}
			if woken {
				found++
			}
			after = id
		}
		switch {
		case err != nil:
			x.Logger.Warn("could not list the inboxes of entities; trying again", "error", err, "delay", delay)
			timer.Wait(ctx, x.Clock, delay)
			delay = min(2*delay, 5*time.Second)
		case len(ids) < receiversPage:
			x.recovered.Store(true)
			if found > 0 {
				x.Logger.Info("entities have messages from before", "entities", found)
			}
			return
		}
	}
}

// wakeReceiver tells a receiver that it has messages, if it is an entity.
func (x *Entities) wakeReceiver(ctx context.Context, id journal.ID) (woken bool, err error) {
	messages, _, err := x.Store.Messages(ctx, id, 0, journal.PageLimit{Entries: 1})
	if err != nil || len(messages) == 0 {
		return false, err
	}
	if k := messages[0].Kind; k != journal.CallMessage && k != journal.StartMessage {
		return false, nil
	}
	x.actors.Post(id, past{})
	return true, nil
}
