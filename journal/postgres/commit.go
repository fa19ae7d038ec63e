package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
)

// How a batch is committed.
//
// Invariants: a write takes effect whole or not at all; a write that is fenced,
// finds no execution or a sequence number that is taken, does not hurt its
// neighbours; and a stale owner writes nothing, whatever the timing.
//
// The plain way is to read what there is, decide about each write, and write
// the rest: two round trips at the least. Nearly always the decision is "all of
// them", because the owner of a shard knows its executions. So the batch is
// first sent in the hope that it is right: BEGIN, fence, a handful of statements
// over arrays, COMMIT, all in one flight. Each statement checks its premise
// (expect, unique keys), and if one is wrong the server skips everything up to
// and including the COMMIT: nothing happened, and the batch goes the plain way.
// The one refusal that is common, a start or settlement that comes second, is
// answered within the first flight by ON CONFLICT DO NOTHING.
//
// Why the fence holds. Every batch takes a SHARE lock on the table of shards,
// then reads the epochs. ClaimShards changes epochs under SHARE ROW EXCLUSIVE,
// which conflicts with it. So either the claim comes first: the batch waits for
// it, and since under READ COMMITTED each statement sees what was committed
// when it began, and the lock and the read are two statements, the read sees
// the new epoch. Or the batch comes first: the claim, and with it whoever acts
// on it, waits until the batch is through. Were both one statement, its snapshot
// could be older than the lock, and a stale owner would slip in. A row lock (FOR SHARE)
// would do as well, but it writes to each row it locks; the table lock costs
// nothing but memory. Guest transactions run on an old snapshot and do use the
// row lock: see GuestTx.Commit.

// Rounds of the plain way before it gives up: each is lost only to another
// commit that touched the same rows at the same time.
const maxRounds = 10

// rollbackLimit bounds how long a failed transaction may take to end; after it
// the connection is given up, which ends the transaction as well.
const rollbackLimit = 5 * time.Second

// txIdle is the status of a connection outside of any transaction.
const txIdle = 'I'

// Commit implements journal.Store.
func (s *Store) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	results := make([]journal.Result, len(writes))
	sound := make([]*journal.Write, 0, len(writes))
	index := make([]int, 0, len(writes)) // of sound in writes
	for i := range writes {
		if results[i].Err = check(&writes[i]); results[i].Err == nil {
			sound, index = append(sound, &writes[i]), append(index, i)
		}
	}
	if len(sound) == 0 {
		return results, nil
	}
	if err := s.dispel(ctx); err != nil {
		return nil, err
	}
	conn, err := s.main.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("postgres: commit: %w", err)
	}
	defer conn.Release()
	verdicts, err := s.commit(ctx, conn, sound)
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		results[index[i]] = v
	}
	return results, nil
}

func (s *Store) commit(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) ([]journal.Result, error) {
	if independent(writes) {
		verdicts, err := s.commitHoping(ctx, conn, writes)
		if !premiseFailed(err) {
			return verdicts, err
		}
	}
	var lost error
	for range maxRounds {
		verdicts, err := s.commitDecided(ctx, conn, writes)
		if !premiseFailed(err) {
			return verdicts, err
		}
		lost = err
	}
	return nil, fmt.Errorf("postgres: commit: %w: %w", journal.ErrConflict, lost)
}

// premiseFailed tells whether a transaction stopped because a row was there, or
// was not, against its plan.
func premiseFailed(err error) bool {
	switch sqlState(err) {
	case stateFenced, stateMissing, stateUniqueViolation:
		return true
	}
	return false
}

// commitHoping sends everything in one flight.
func (s *Store) commitHoping(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) ([]journal.Result, error) {
	b := &pgx.Batch{}
	found := &answers{started: map[journal.ID]bool{}, settled: map[settlement]bool{}}
	p := newPlan(writes, hoped)
	b.Queue(stmtBegin)
	b.Queue(stmtLock)
	p.queueFence(b)
	p.queue(b, found)
	if err := s.finish(ctx, conn.Conn(), b); err != nil {
		return nil, err
	}
	verdicts := make([]journal.Result, len(writes))
	for i, w := range writes {
		switch {
		case !bare(w):
		case w.Start != nil:
			verdicts[i].Existed = !found.started[w.ID]
		case w.Settle != nil:
			verdicts[i].Existed = !found.settled[settlement{w.ID, w.Settle.Name}]
		}
	}
	return verdicts, nil
}

// finish sends a batch with a COMMIT behind it. If the server refuses, the
// transaction is rolled back and the connection fit for the next.
func (s *Store) finish(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
	committed := false
	b.Queue(stmtCommit).Exec(func(tag pgconn.CommandTag) error {
		// A transaction that had failed before answers COMMIT with ROLLBACK.
		committed = tag.String() == "COMMIT"
		return nil
	})
	err := conn.SendBatch(ctx, b).Close()
	if err == nil && !committed {
		err = errRolledBack
	}
	if err != nil && !committed {
		s.rollback(ctx, conn)
		if !rolledBack(err) {
			s.doubt(ctx, conn)
		}
		return afterCommit("postgres: commit", err)
	}
	s.commits.Add(1)
	return nil
}

// rollback ends a failed transaction. If it cannot, the pool sees that the
// connection is not fit and drops it.
func (s *Store) rollback(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == txIdle {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
	defer cancel()
	if _, err := conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
		s.config.Logger.DebugContext(ctx, "rollback failed, connection dropped", "store", "postgres", "error", err)
	}
}
