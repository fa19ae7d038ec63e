package entity

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// receiversPage is how many receivers are looked at together.
const receiversPage = 500

// maxRecovering is how many entities look into their inboxes, or work on the first page of them, at the same time
// when a host starts. The first message of an inbox is read whatever memory others have taken.
const maxRecovering = maxAtWork

// receivers lists the inboxes that have messages.
type receivers interface {
	Receivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error)
}

// recovery tells entities of messages that they have missed.
type recovery struct {
	clock  clockwork.Clock
	logger *slog.Logger
	post   post
	store  receivers
	// done says that all entities that had messages when the host began know of them.
	done atomic.Bool
	// looking has an element for each entity that looks for messages from before.
	looking chan struct{}
}

// run has all entities look into their inboxes that have undelivered messages there, left by an
// earlier host. It tries until it is done, or ctx ends. It reads a list of receivers, a page at a
// time, and no message: an unreadable message is the trouble of its receiver alone. A few entities
// at a time are brought into memory; the next ones when those have nothing at work, for whatever
// reason.
func (r *recovery) run(ctx context.Context) {
	after, found := journal.ID{}, 0
	for delay := 50 * time.Millisecond; ctx.Err() == nil; {
		ids, err := r.store.Receivers(ctx, after, receiversPage)
		for _, id := range ids {
			select {
			case r.looking <- struct{}{}:
			case <-ctx.Done():
				return
			}
			r.post(id, past{looked: func() { <-r.looking }})
			after = id
		}
		found += len(ids)
		switch {
		case err != nil:
			r.logger.Warn("could not list the inboxes of entities; trying again", "error", err, "delay", delay)
			timer.Wait(ctx, r.clock, delay)
			delay = min(2*delay, 5*time.Second)
		case len(ids) < receiversPage:
			r.done.Store(true)
			if found > 0 {
				r.logger.Info("entities have messages from before", "entities", found)
			}
			return
		}
	}
}

// scanEvery is how often a page of inboxes is looked at, in case that an entity was not told of a message.
const scanEvery = time.Minute

// scan has entities look into their inboxes that have messages there, a page at a time,
// until ctx ends. They have been told of nearly all; while nothing waits it costs one read.
func (r *recovery) scan(ctx context.Context) {
	var after journal.ID
	for timer.Wait(ctx, r.clock, scanEvery); ctx.Err() == nil; timer.Wait(ctx, r.clock, scanEvery) {
		after = r.scanPage(ctx, after)
	}
}

// scanPage looks at a page of inboxes, and returns where the next one begins.
func (r *recovery) scanPage(ctx context.Context, after journal.ID) journal.ID {
	ids, err := r.store.Receivers(ctx, after, receiversPage)
	for _, id := range ids {
		r.post.Mail(id, 0)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		r.logger.Warn("could not look at the inboxes of entities; trying again", "error", err, "delay", scanEvery)
		return after
	case len(ids) < receiversPage:
		return journal.ID{}
	default:
		return ids[len(ids)-1]
	}
}
