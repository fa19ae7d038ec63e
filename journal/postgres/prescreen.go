package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/journal"
)

// # Refusals in storms
//
// Of the writes of entities two sorts are refused often, and many at a time: a commit with an operation that was
// performed before, when callers repeat their requests, and a message to a full inbox. Each stops the optimistic
// transaction of its batch, and would have all of the batch decided write by write. But the rows that refuse them are
// few, and found by their keys. So a batch that was stopped that way is prescreened: in one round trip the fences are
// checked and those rows are read, the writes that they refuse are answered, and the others are tried as they were at
// first, in the same transaction. The batches behind it are prescreened at once, until some of them in a row have found
// nothing.
//
// That an inbox is full costs a count of its messages. It is remembered for a moment, unless this host takes some out.

const (
	// prescreenedBatches is the number of batches prescreened behind a batch with a refusal.
	prescreenedBatches = 16
	// fullFor is how long an inbox is taken for full.
	fullFor = 100 * time.Millisecond
	// maxFull is how many such inboxes are remembered.
	maxFull = 1000
)

// refusalCache remembers recent refusals.
type refusalCache struct {
	clock clockwork.Clock

	mu        sync.Mutex
	remaining int                      // batches still to be prescreened; guarded by mu
	full      map[journal.ID]time.Time // entities → until when their inboxes are taken for full; guarded by mu
}

// expects tells whether some of the writes may be refused.
func (c *refusalCache) expects(writes []*journal.Write) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remaining == 0 && len(c.full) == 0 {
		return false
	}
	for _, w := range writes {
		if _, full := c.full[w.ID]; isOftenRefused(w) && (c.remaining > 0 || full) {
			return true
		}
	}
	return false
}

// isFull tells whether an inbox was full a moment ago.
func (c *refusalCache) isFull(id journal.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	until, full := c.full[id]
	if full && !c.clock.Now().Before(until) {
		delete(c.full, id)
		return false
	}
	return full
}

// setFull remembers that an inbox is full.
func (c *refusalCache) setFull(id journal.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full == nil || len(c.full) >= maxFull {
		c.full = map[journal.ID]time.Time{}
	}
	c.full[id] = c.clock.Now().Add(fullFor)
}

// noteRefused notes how many writes of a batch were refused.
func (c *refusalCache) noteRefused(refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.remaining = max(c.remaining-1, 0); refused > 0 {
		c.remaining = prescreenedBatches
	}
}

// madeRoom forgets that inboxes are full from which writes have taken messages.
func (c *refusalCache) madeRoom(writes ...*journal.Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range writes {
		if len(c.full) > 0 && makesRoom(w) {
			delete(c.full, w.ID)
		}
	}
}

func makesRoom(w *journal.Write) bool { return len(w.Take)+len(w.Park)+len(w.Unpark) > 0 }

// isOftenRefused tells whether a write is of one of the sorts that are refused often.
func isOftenRefused(w *journal.Write) bool {
	return w.OfEntity() && (len(w.Receipts) > 0 || w.Receive != nil && bare(w))
}

// commitPrescreened commits a batch without the refused writes. Stopped is why the whole batch was not
// committed, if it was tried; it is returned if nothing is refused.
func (s *Store) commitPrescreened(
	ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write, stopped error,
) ([]journal.Result, error) {
	snap, err := s.readRefusals(ctx, conn, writes)
	if err != nil {
		s.rollback(ctx, conn.Conn())
		return nil, beforeCommit("postgres: commit", asUnanswered(ctx, err))
	}
	outcomes := make([]journal.Result, len(writes))
	var left []*journal.Write
	for i, w := range writes {
		if outcomes[i] = s.refuse(snap, w, writes); outcomes[i] == (journal.Result{}) {
			left = append(left, w)
		}
	}
	s.refusals.noteRefused(len(writes) - len(left))
	if len(left) == 0 || stopped != nil && len(left) == len(writes) {
		s.rollback(ctx, conn.Conn())
		if len(left) > 0 {
			return nil, stopped
		}
		return outcomes, nil
	}
	b, found := &pgx.Batch{}, newAnswers()
	queueWrites(b, left, optimistic, found)
	if err := s.sendWithCommit(ctx, conn.Conn(), b); err != nil {
		return nil, err
	}
	for i, w := range writes {
		if outcomes[i] == (journal.Result{}) {
			outcomes[i] = found.result(w)
		}
	}
	return outcomes, nil
}

// readRefusals opens the transaction, checks the fences and reads the state that may refuse writes: one round trip.
func (s *Store) readRefusals(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) (*snapshot, error) {
	snap, b := newSnapshot(), &snapshotBatch{sql: &s.sql}
	b.Queue(stmtBegin)
	b.Queue(stmtLock)
	queueFence(&b.Batch, writes)
	var of mailDependencies
	for _, w := range writes {
		if !isOftenRefused(w) {
			continue
		}
		only := journal.Write{ID: w.ID, Receive: w.Receive, Receipts: w.Receipts}
		of.add(&only)
		if w.Receive != nil && s.refusals.isFull(w.ID) {
			of.receivers.dropLast()
			snap.mail.tallies[w.Receiver()] = tally{messages: journal.MaxInbox}
		}
	}
	b.readInboxes(snap, &of) // in front of the origins: see readSnapshot
	b.readOrigins(snap, &of)
	return snap, conn.SendBatch(ctx, &b.Batch).Close()
}

// refuse tells why a write is refused: the zero Result says that it is to be tried, and records its
// effect on the inbox. Where others of its batch make room nothing is concluded.
func (s *Store) refuse(snap *snapshot, w *journal.Write, batch []*journal.Write) journal.Result {
	if !isOftenRefused(w) {
		return journal.Result{}
	}
	for i := range w.Receipts {
		if origin := w.Receipts[i].Origin; snap.mail.answered[receiptOf(w.ID, origin)] {
			return journal.Result{Err: errReceiptThere(w.ID, origin)}
		}
	}
	to := w.Receiver()
	if w.Receive == nil {
		return journal.Result{}
	}
	limit, bounded := w.Receive.Kind.Limit()
	switch {
	case snap.mail.knows(to, w.Receive.Origin):
		return journal.Result{Existed: true}
	case !bounded || hasRoomMade(batch, w.ID):
		return journal.Result{}
	}
	there := snap.mail.tallies[to]
	if limit.Exceeded(there.messages, there.bytes, 0) || snap.mail.aside[to].parkedFull() {
		if !s.refusals.isFull(w.ID) {
			s.refusals.setFull(w.ID)
		}
		return journal.Result{Err: journal.ErrInboxFull}
	}
	if there.full(w.Receive) {
		return journal.Result{Err: journal.ErrInboxFull}
	}
	snap.mail.put(to, w.Receive)
	return journal.Result{}
}

func hasRoomMade(batch []*journal.Write, id journal.ID) bool {
	for _, w := range batch {
		if w.ID == id && makesRoom(w) {
			return true
		}
	}
	return false
}

func errReceiptThere(id journal.ID, origin journal.Origin) error {
	return fmt.Errorf("postgres: there is a receipt %x of %s", origin, id)
}
