package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// ClaimShards implements journal.Store.
func (s *Store) ClaimShards(ctx context.Context, owner string) ([]journal.Fence, error) {
	var fences []journal.Fence
	token := journal.NewToken()
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		err := run(
			conn,
			"UPDATE cruster_shards SET epoch = epoch + 1, token = ?2, owner = ?1",
			func(stmt *sqlite.Stmt) {
				stmt.BindText(1, owner)
				stmt.BindBytes(2, token[:])
			},
			nil,
		)
		if err != nil {
			return err
		}
		fences, err = readFences(conn)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlite: claim shards: %w", err)
	}
	return fences, nil
}

// CommitsAtOnce implements journal.Store: SQLite has one writer.
func (s *Store) CommitsAtOnce() int { return 1 }

// Commit implements journal.Store.
//
// Errors of a single write are found by looking before touching, or, for a receipt that is there
// already, by the first row, which is touched and put back: so a batch needs no savepoints. Only a
// duplicate sequence number, and a missing message to be taken or held, are found in the middle of
// a write. The owner of a shard knows both, so that only a bug of the host writes them, and that
// case may be slow: the transaction is rolled back and the batch repeated with a savepoint around
// each write. A write that sends to an inbox which is nearly overfull has a savepoint of its own.
func (s *Store) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	if len(writes) == 0 {
		return nil, ctx.Err()
	}
	results, err := s.commitBatch(ctx, writes, false)
	if err != nil && failedMidway(err) {
		results, err = s.commitBatch(ctx, writes, true)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: commit of %d writes: %w", len(writes), err)
	}
	return results, nil
}

func (s *Store) commitBatch(ctx context.Context, writes []journal.Write, savepoints bool) ([]journal.Result, error) {
	results := make([]journal.Result, len(writes))
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		b := newBatch(conn, &s.mail)
		for i := range writes {
			var err error
			if savepoints {
				results[i], err = b.applyAlone(&writes[i])
			} else {
				results[i], err = b.apply(&writes[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return results, err
}

// batch applies writes inside one transaction.
type batch struct {
	conn *sqlite.Conn
	// fences that were read in this transaction.
	fences map[journal.Shard]journal.Fence
	mail   *mail
	// sentTo are the receivers of the last write's messages.
	sentTo []journal.Receiver
	// refuses tells of inboxes that the last write sends to whether they take no more messages.
	refuses map[journal.Receiver]bool
}

func newBatch(conn *sqlite.Conn, m *mail) *batch {
	return &batch{conn: conn, mail: m, fences: map[journal.Shard]journal.Fence{}, refuses: map[journal.Receiver]bool{}}
}

// failedMidway tells whether a write failed in the middle for a reason of its own.
func failedMidway(err error) bool {
	return isConstraint(err) || errors.Is(err, errNoMessage) || errors.Is(err, errEntryTaken)
}

// apply applies one write. An error means that it may be half done and the transaction must not be
// committed; an error of the write alone is in the result, and then nothing of it was done.
func (b *batch) apply(w *journal.Write) (journal.Result, error) {
	if err := w.Check(); err != nil {
		return journal.Result{Err: err}, nil
	}
	fence, err := b.fence(w.ID.Shard())
	if err != nil {
		return journal.Result{}, err
	}
	if w.Fence != fence {
		return journal.Result{Err: journal.ErrFenced}, nil
	}
	over := false
	if !w.OfEntity() {
		var result journal.Result
		if over, result, err = b.applies(w); err != nil || result != (journal.Result{}) {
			return result, err
		}
	}
	if m := w.Receive; m != nil {
		known, err := b.knows(w.ReceivedBy(), m.Origin)
		if err == nil && !known && !w.Replace.IsZero() {
			known, err = b.superseding(w)
		}
		if err != nil || known {
			return journal.Result{Existed: known}, err
		}
		if over {
			return journal.Result{Err: journal.ErrNotFound}, nil
		}
		if full, err := b.full(w.ReceivedBy(), m); err != nil || full {
			return journal.Result{Err: journal.ErrInboxFull}, err
		}
	}
	if crowded, err := b.crowded(w); err != nil || crowded {
		if err != nil {
			return journal.Result{}, err
		}
		return b.insertIfRoom(w)
	}
	return b.insert(w)
}

// applies looks at the rows of an execution: the zero Result says that nothing in them keeps the
// write from taking effect. Over reports whether its run has ended.
func (b *batch) applies(w *journal.Write) (over bool, result journal.Result, err error) {
	there, err := b.run(w.ID)
	if err != nil {
		return false, journal.Result{}, err
	}
	over = w.Start == nil && there != nil && there.state.Final()
	switch {
	case w.Start != nil && there != nil && !(there.run == w.Replace && there.state.Final()):
		return over, journal.Result{Existed: true}, nil
	case w.Start != nil:
		if used, err := b.isUsed(w.Start.RunKey()); err != nil || used {
			return over, journal.Result{Err: journal.ErrSwept}, err
		}
	case there == nil || there.run != w.Run || there.chain != w.Receiver().Chain || len(w.Entries) > 0 && over:
		return over, journal.Result{Err: journal.ErrNotFound}, nil
	}
	if w.Link != nil {
		linked, err := b.found(
			"SELECT 1 FROM cruster_links WHERE shard = ?1 AND run = ?2 AND step = ?3", journal.KeyOf(w.ID, w.Run),
			w.Link.Step,
		)
		if err != nil || linked {
			return over, journal.Result{Existed: linked}, err
		}
		if there, err := b.chainThere(w.Link); err != nil || !there {
			return over, journal.Result{Err: journal.ErrSwept}, err
		}
	}
	return over, journal.Result{}, nil
}

// selectUsed finds a run that is gone, or superseded.
const selectUsed = `SELECT 1 FROM cruster_retired WHERE shard = ?1 AND run = ?2 UNION ALL SELECT 1
	FROM cruster_executions WHERE shard = ?1 AND run = ?2`

// isUsed tells whether there was a run of that id before.
func (b *batch) isUsed(run journal.RunKey) (bool, error) {
	return b.found(selectUsed, run)
}

// applyAlone is apply with a savepoint, so that an error in the middle of a write costs this write
// only.
func (b *batch) applyAlone(w *journal.Write) (journal.Result, error) {
	if err := run(b.conn, "SAVEPOINT cruster_write", nil, nil); err != nil {
		return journal.Result{}, err
	}
	result, err := b.apply(w)
	if err != nil {
		if !failedMidway(err) {
			return journal.Result{}, err
		}
		b.mail.forget()
		if err := run(b.conn, "ROLLBACK TO cruster_write", nil, nil); err != nil {
			return journal.Result{}, err
		}
		result = journal.Result{Err: fmt.Errorf("sqlite: write of execution %s: %w", w.ID, err)}
	}
	return result, run(b.conn, "RELEASE cruster_write", nil, nil)
}

func (b *batch) fence(shard journal.Shard) (fence journal.Fence, err error) {
	fence, known := b.fences[shard]
	if !known {
		fence, err = readFence(b.conn, shard)
		b.fences[shard] = fence
	}
	return fence, err
}

func columnFence(row *sqlite.Stmt) (f journal.Fence) {
	f.Epoch = journal.Epoch(row.ColumnInt64(0))
	row.ColumnBytes(1, f.Token[:])
	return f
}

func readFence(conn *sqlite.Conn, shard journal.Shard) (fence journal.Fence, err error) {
	found := false
	err = run(
		conn,
		"SELECT epoch, token FROM cruster_shards WHERE shard = ?1",
		values(int(shard)),
		func(row *sqlite.Stmt) error {
			fence, found = columnFence(row), true
			return nil
		},
	)
	if err == nil && !found {
		err = fmt.Errorf("shard %d is missing", shard)
	}
	return fence, err
}

// readFences reads the fences of all shards.
func readFences(conn *sqlite.Conn) ([]journal.Fence, error) {
	fences := make([]journal.Fence, 0, journal.NumShards)
	err := run(conn, "SELECT epoch, token FROM cruster_shards ORDER BY shard", nil, func(row *sqlite.Stmt) error {
		fences = append(fences, columnFence(row))
		return nil
	})
	return fences, err
}

// currentRun identifies the current run of an execution, and its state.
type currentRun struct {
	run, chain journal.RunID
	state      journal.State
}

// run reads the current run of an execution; nil if there is none.
func (b *batch) run(id journal.ID) (found *currentRun, err error) { return readRun(b.conn, id) }

func readRun(conn *sqlite.Conn, id journal.ID) (found *currentRun, err error) {
	err = run(
		conn,
		"SELECT run, coalesce(chain, run), state FROM cruster_executions WHERE shard = ?1 AND id = ?2 AND superseded = 0",
		values(id),
		func(row *sqlite.Stmt) error {
			found = &currentRun{state: journal.State(row.ColumnText(2))}
			row.ColumnBytes(0, found.run[:])
			row.ColumnBytes(1, found.chain[:])
			return nil
		},
	)
	return found, err
}

// chainThere tells whether the callee of a link is the execution that is meant.
func (b *batch) chainThere(l *journal.Link) (bool, error) {
	return b.found(
		"SELECT 1 FROM cruster_executions WHERE shard = ?1 AND id = ?2 AND superseded = 0 AND coalesce(chain, run) = ?3",
		l.Callee, l.Chain,
	)
}

func (b *batch) found(query string, list ...any) (found bool, err error) {
	err = run(b.conn, query, values(list...), func(*sqlite.Stmt) error {
		found = true
		return errEnough
	})
	return found, err
}

// insert performs the inserts of the write; apply has checked that it may.
func (b *batch) insert(w *journal.Write) (result journal.Result, err error) {
	if there, err := b.leaveReceipts(w); err != nil || there != nil {
		return journal.Result{Err: there}, err
	}
	if !w.Replace.IsZero() {
		if err := b.supersede(w.ID); err != nil {
			return journal.Result{}, err
		}
	}
	if w.Start != nil {
		err = b.start(w.Start)
	}
	if err == nil && w.Link != nil {
		err = b.link(w)
	}
	if err == nil {
		result.Position, err = b.deliver(w)
	}
	if err == nil {
		err = b.insertEntries(w)
	}
	if err == nil {
		err = b.change(w)
	}
	return result, err
}

// change changes the singular rows: the execution, the saved state of its guest, its published
// values, the entity and its lock.
func (b *batch) change(w *journal.Write) error {
	if w.Update != nil {
		if err := b.update(w.ID, w.Update); err != nil {
			return err
		}
		if w.Update.State.Final() {
			if err := b.hibernate(w, &journal.Hibernated{}); err != nil {
				return err
			}
		}
	}
	if w.Hibernate != nil {
		if err := b.hibernate(w, w.Hibernate); err != nil {
			return err
		}
	}
	if w.OfEntity() {
		return b.changeEntity(w)
	}
	if w.Receive != nil {
		if err := b.countArrival(w.ID); err != nil {
			return err
		}
	}
	if w.Publish != nil {
		if err := b.publish(w); err != nil {
			return err
		}
	}
	if w.Continue != nil {
		return b.continueAs(w)
	}
	return nil
}

func (b *batch) putInput(of journal.RunKey, input []byte) error {
	return exec(b.conn, "INSERT INTO cruster_inputs (shard, run, input) VALUES (?1, ?2, ?3)", of, input)
}

func (b *batch) update(id journal.ID, u *journal.Update) error {
	return exec(
		b.conn,
		`UPDATE cruster_executions SET state = ?3, wake_at = iif(?3 = 'running' AND arrivals > ?13, ?14, ?4),
			value = ?5, error = ?6, finished_at = ?7,
			waiting = ?8, digest = coalesce(?9, digest), moved_at = max(moved_at, ?10), section = ?11,
				interrupt = coalesce(interrupt, ?12)
		WHERE shard = ?1 AND id = ?2 AND superseded = 0`,
		id,
		string(u.State),
		u.WakeAt,
		u.Value,
		pack(u.Error),
		u.FinishedAt,
		pack(&u.Waiting),
		orNull(u.Digest),
		u.MovedAt,
		orNull(u.Section),
		pack(u.Interrupt),
		u.Arrivals,
		journal.Now,
	)
}

func (b *batch) link(w *journal.Write) error {
	return exec(b.conn, "INSERT INTO cruster_links (shard, run, step, callee, callee_run) VALUES (?1, ?2, ?3, ?4, ?5)",
		journal.KeyOf(w.ID, w.Run), w.Link.Step, w.Link.Callee[:], w.Link.Chain)
}

func (b *batch) start(e *journal.Execution) error {
	var chain, parentShard any
	if e.Chain != e.Run {
		chain = orNull(e.Chain)
	}
	if !e.Parent.IsZero() {
		parentShard = int(e.Parent.ID.Shard())
	}
	err := exec(
		b.conn,
		`INSERT INTO cruster_executions (shard, id, namespace, workflow, key, digest, state, value, error,
			wake_at, interrupt, parent_shard, parent, parent_run, parent_step, created_at, finished_at, run, waiting,
				pinned, moved_at,
			section, chain, continued, request)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,
			?23, ?24, ?25)`,
		e.ID,
		e.Namespace,
		e.Workflow,
		e.Key,
		e.Digest,
		string(e.State),
		e.Value,
		pack(e.Error),
		e.WakeAt,
		pack(e.Interrupt),
		parentShard,
		e.Parent,
		e.CreatedAt,
		e.FinishedAt,
		e.Run,
		pack(&e.Waiting),
		pack(&e.Pinned),
		e.MovedAt,
		orNull(e.Section),
		chain,
		int(e.Continued),
		orNull(e.Request),
	)
	if err != nil {
		return err
	}
	return b.putInput(e.RunKey(), e.Input)
}
