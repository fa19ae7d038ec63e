package entity

import (
	"context"
	"time"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// receiversPage is how many receivers are looked at together.
const receiversPage = 500

// maxRecovering is how many entities look into their inboxes, or work on the first page of them, at the same time
// when a host starts. The first message of an inbox is read whatever memory others have taken.
const maxRecovering = maxAtWork

// Recover has all entities look into their inboxes that have undelivered messages there, left by an
// earlier host. It tries until it is done, or ctx ends. It reads a list of receivers, a page at a
// time, and no message: an unreadable message is the trouble of its receiver alone. A few entities
// at a time are brought into memory; the next ones when those have nothing at work, for whatever
// reason.
func (x *Entities) Recover(ctx context.Context) {
	after, found := journal.ID{}, 0
	for delay := 50 * time.Millisecond; ctx.Err() == nil; {
		ids, err := x.Store.Receivers(ctx, after, receiversPage)
		for _, id := range ids {
			select {
			case x.recovering <- struct{}{}:
			case <-ctx.Done():
				return
			}
			x.actors.Post(id, past{looked: func() { <-x.recovering }})
			after = id
		}
		found += len(ids)
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

// scanEvery is how often a page of inboxes is looked at, in case that an entity was not told of a message.
const scanEvery = time.Minute

// ScanInboxes has entities look into their inboxes that have messages there, a page at a time,
// until ctx ends. They have been told of nearly all; while nothing waits it costs one read.
func (x *Entities) ScanInboxes(ctx context.Context) {
	var after journal.ID
	for timer.Wait(ctx, x.Clock, scanEvery); ctx.Err() == nil; timer.Wait(ctx, x.Clock, scanEvery) {
		after = x.scanPage(ctx, after)
	}
}

// scanPage looks at a page of inboxes, and returns where the next one begins.
func (x *Entities) scanPage(ctx context.Context, after journal.ID) journal.ID {
	ids, err := x.Store.Receivers(ctx, after, receiversPage)
	for _, id := range ids {
		x.actors.Post(id, mail{})
	}
	switch {
	case err != nil && ctx.Err() == nil:
		x.Logger.Warn("could not look at the inboxes of entities; trying again", "error", err, "delay", scanEvery)
		return after
	case len(ids) < receiversPage:
		return journal.ID{}
	default:
		return ids[len(ids)-1]
	}
}
