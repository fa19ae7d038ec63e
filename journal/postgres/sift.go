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
// Of the writes of entities two sorts are refused often, and many at a time: a commit with an
// operation that was performed before, when callers repeat their requests, and a message to a full
// inbox. Each stops the optimistic transaction of its batch, and would have all of the batch
// decided write by write. But the rows that refuse them are few, and found by their keys. So a
// batch that was stopped that way is sifted: in one round trip the fences are checked and those
// rows are read, the writes that they refuse are answered, and the others are tried as they were at
// first, in the same transaction. The batches behind it are sifted at once, until some of them in a
// row have found nothing.
//
// That an inbox is full costs a count of its messages. It is remembered for a moment, unless this host takes some out.

const (
	// siftedBatches is the number of batches sifted behind a batch with a refusal.
	siftedBatches = 16
	// fullFor is how long an inbox is taken for full.
	fullFor = 100 * time.Millisecond
	// maxFull is how many such inboxes are remembered.
	maxFull = 1000
)

// sieve remembers recent refusals.
type sieve struct {
	clock clockwork.Clock

	mu    sync.Mutex
	storm int                      // batches that are still to be sifted; guarded by mu
	full  map[journal.ID]time.Time // entities → until when their inboxes are taken for full; guarded by mu
}

// expects tells whether some of the writes may be refused.
func (s *sieve) expects(writes []*journal.Write) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storm == 0 && len(s.full) == 0 {
		return false
	}
	for _, w := range writes {
		if _, full := s.full[w.ID]; isSiftable(w) && (s.storm > 0 || full) {
			return true
		}
	}
	return false
}

// isFull tells whether an inbox was full a moment ago.
func (s *sieve) isFull(id journal.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, full := s.full[id]
	if full && !s.clock.Now().Before(until) {
		delete(s.full, id)
		return false
	}
	return full
}

// setFull remembers that an inbox is full.
func (s *sieve) setFull(id journal.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full == nil || len(s.full) >= maxFull {
		s.full = map[journal.ID]time.Time{}
	}
	s.full[id] = s.clock.Now().Add(fullFor)
}

// sifted notes how many writes of a batch were refused.
func (s *sieve) sifted(refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.storm = max(s.storm-1, 0); refused > 0 {
		s.storm = siftedBatches
	}
}

// madeRoom forgets that inboxes are full from which writes have taken messages.
func (s *sieve) madeRoom(writes ...*journal.Write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range writes {
		if len(s.full) > 0 && makesRoom(w) {
			delete(s.full, w.ID)
		}
	}
}

func makesRoom(w *journal.Write) bool { return len(w.Take)+len(w.Park)+len(w.Unpark) > 0 }

// isSiftable tells whether a write is of one of the sorts that are refused often.
func isSiftable(w *journal.Write) bool {
	return w.OfEntity() && (len(w.Receipts) > 0 || w.Receive != nil && bare(w))
}

// commitSifted commits a batch without the refused writes. Stopped is why the whole batch was not
// committed, if it was tried; it is returned if nothing is refused.
func (s *Store) commitSifted(
	ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write, stopped error,
) ([]journal.Result, error) {
	snap, err := s.readRefusals(ctx, conn, writes)
	if err != nil {
		s.rollback(ctx, conn.Conn())
		return nil, beforeCommit("postgres: commit", silent(ctx, err))
	}
	outcomes := make([]journal.Result, len(writes))
	var left []*journal.Write
	for i, w := range writes {
		if outcomes[i] = s.refuse(snap, w, writes); outcomes[i] == (journal.Result{}) {
			left = append(left, w)
		}
	}
	s.sieve.sifted(len(writes) - len(left))
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
		if !isSiftable(w) {
			continue
		}
		only := journal.Write{ID: w.ID, Receive: w.Receive, Receipts: w.Receipts}
		of.add(&only)
		if w.Receive != nil && s.sieve.isFull(w.ID) {
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
	if !isSiftable(w) {
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
		if !s.sieve.isFull(w.ID) {
			s.sieve.setFull(w.ID)
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
