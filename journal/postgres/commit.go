package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
)

// maxRounds is how often a batch is decided before it counts as a conflict. A round is lost only to another commit that
// touched the same rows at the same time.
const maxRounds = 10

// txIdle is the status of a connection outside of any transaction.
const txIdle = 'I'

// CommitsAtOnce implements journal.Store.
func (s *Store) CommitsAtOnce() int { return batchesAtOnce }

// Commit implements journal.Store.
//
// Invariants: a write takes effect whole or not at all; a write that is fenced, finds no execution, no message, or a
// sequence number that is taken, does not hurt its neighbours; and a stale owner writes nothing, whatever the timing.
//
// The naive way is to read the state, decide about each write, and write the rest: two round trips at least. Nearly
// always the decision is "all of them", because the owner of a shard knows its executions. So the first try is
// optimistic: BEGIN, fence, a handful of statements over arrays, COMMIT, all in one round trip. Each statement checks
// its premise (expect, unique keys). If one is wrong the server skips everything up to and including the COMMIT:
// nothing happened, and the batch goes the naive way. The one refusal that is common, a start or message that comes
// second, is answered within the first round trip by ON CONFLICT DO NOTHING.
//
// Why the fence holds. Every batch takes a SHARE lock on the table of shards, then reads the
// fences. ClaimShards changes fences under SHARE ROW EXCLUSIVE, which conflicts with it. So either
// the claim comes first: the batch waits for it, and since under READ COMMITTED each statement sees
// the commits before its beginning, and the lock and the read are two statements, the read sees the
// new fence. Or the batch comes first: the claim, and with it the new owner, waits until the batch
// has committed. Were both one statement, its snapshot could be older than the lock, and the write
// of a stale owner would get through. A row lock (FOR SHARE) would do as well, but it writes to
// each row it locks; the table lock costs nothing but memory. Guest transactions run on an old
// snapshot and do use the row lock: see guestTx.Commit.
func (s *Store) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	results := make([]journal.Result, len(writes))
	valid := make([]*journal.Write, 0, len(writes))
	index := make([]int, 0, len(writes)) // of valid in writes
	for i := range writes {
		if results[i].Err = check(&writes[i]); results[i].Err == nil {
			valid, index = append(valid, &writes[i]), append(index, i)
		}
	}
	if len(valid) == 0 {
		return results, nil
	}
	if err := s.resolveInDoubt(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
	}
	var outcomes []journal.Result
	sent := false
	err := s.use(ctx, s.writes, s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		sent = true
		outcomes, err = s.commit(ctx, conn, valid)
		return err
	})
	switch {
	case err != nil && !sent:
		return nil, fmt.Errorf("postgres: commit: %w: %w", journal.ErrUnavailable, err)
	case err != nil:
		return nil, err
	}
	s.refusals.madeRoom(valid...)
	for i, v := range outcomes {
		results[index[i]] = v
	}
	return results, nil
}

func (s *Store) commit(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) ([]journal.Result, error) {
	if independent(writes) {
		outcomes, err := s.commitTogether(ctx, conn, writes)
		if !premiseFailed(err) {
			return outcomes, err
		}
	}
	s.decided.Add(1)
	var lost error
	for range maxRounds {
		outcomes, err := s.commitDecided(ctx, conn, writes)
		if !premiseFailed(err) {
			return outcomes, err
		}
		lost = err
	}
	return nil, fmt.Errorf("postgres: commit: %w: %w", journal.ErrConflict, lost)
}

// commitTogether commits writes that do not depend on each other in one transaction, as they are or prescreened: see
// [refusalCache].
func (s *Store) commitTogether(
	ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write,
) ([]journal.Result, error) {
	if s.refusals.expects(writes) {
		return s.commitPrescreened(ctx, conn, writes, nil)
	}
	outcomes, err := s.commitOptimistic(ctx, conn, writes)
	if state := sqlState(err); (state == stateUniqueViolation || state == stateFull) &&
		slices.ContainsFunc(writes, isOftenRefused) {
		return s.commitPrescreened(ctx, conn, writes, err)
	}
	return outcomes, err
}

// premiseFailed tells whether a transaction stopped because a row was there, or was not, against its plan.
func premiseFailed(err error) bool {
	switch sqlState(err) {
	case stateFenced, stateMissing, stateMail, stateFull, stateTaken, stateUniqueViolation:
		return true
	}
	return false
}

// commitOptimistic sends everything in one round trip.
func (s *Store) commitOptimistic(
	ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write,
) ([]journal.Result, error) {
	b := &pgx.Batch{}
	found := newAnswers()
	b.Queue(stmtBegin)
	b.Queue(stmtLock)
	queueFence(b, writes)
	queueWrites(b, writes, optimistic, found)
	if err := s.sendWithCommit(ctx, conn.Conn(), b); err != nil {
		return nil, err
	}
	outcomes := make([]journal.Result, len(writes))
	for i, w := range writes {
		outcomes[i] = found.result(w)
	}
	return outcomes, nil
}

// result is the outcome of a write that was tried with others.
func (a *answers) result(w *journal.Write) (r journal.Result) {
	if w.Receive != nil {
		position, put := a.mailed[mailKey{w.ReceivedBy(), w.Receive.Origin}]
		r = journal.Result{Existed: !put, Position: position}
	}
	switch {
	case !bare(w):
	case w.Start != nil:
		r.Existed = !a.started[w.ID]
	case w.Link != nil:
		r.Existed = !a.linked[linkKey{w.Run, w.Link.Step}]
	}
	return r
}

// sendWithCommit sends a batch with a COMMIT behind it. If the server refuses, the transaction is rolled back and the
// connection fit for the next.
func (s *Store) sendWithCommit(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
	committed := false
	b.Queue(stmtCommit).Exec(func(tag pgconn.CommandTag) error {
		// A transaction that had failed before answers COMMIT with ROLLBACK.
		committed = tag.String() == "COMMIT"
		return nil
	})
	err := asUnanswered(ctx, conn.SendBatch(ctx, b).Close())
	if err == nil && !committed {
		err = errRolledBack
	}
	if err != nil && !committed {
		s.rollback(ctx, conn)
		if !rolledBack(err) {
			s.markInDoubt(ctx, conn)
		}
		return afterCommit("postgres: commit", err)
	}
	s.committed.Add(1)
	return nil
}

// rollback ends a failed transaction. If it cannot, the pool sees that the connection is not fit and drops it, which
// ends the transaction as well.
func (s *Store) rollback(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == txIdle {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.CallLimit)
	defer cancel()
	if _, err := conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
		s.config.Logger.DebugContext(ctx, "rollback failed, connection dropped", "store", "postgres", "error", err)
	}
}
