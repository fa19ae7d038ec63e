package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jonboulle/clockwork"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite/guestsql"
)

// guestTx is the transaction of an activity. It has the writer from BeginGuest until it ends.
//
// It can be ended from outside at any moment: by the time limit, by the journal that waits, or by the store that
// closes. The first of them interrupts the statement under way, if there is one, and then takes mu, which the statement
// holds: so two goroutines never use the handle at once.
type guestTx struct {
	store     *Store
	namespace string
	limit     clockwork.Timer

	stopOnce sync.Once
	stop     chan struct{} // closed to interrupt; stopped is set before
	stopped  error

	mu   sync.Mutex
	over error // why it has ended; guarded by mu
}

var (
	_ journal.GuestTx = (*guestTx)(nil)
	_ preemptible     = (*guestTx)(nil)

	errTxOver = errors.New("sqlite: the transaction is over")
)

// BeginGuest implements journal.Store.
func (s *Store) BeginGuest(ctx context.Context, namespace string) (journal.GuestTx, error) {
	if err := s.queue.acquire(ctx, guestUser); err != nil {
		return nil, fmt.Errorf("sqlite: begin: %w", err)
	}
	if err := s.begin(); err != nil {
		s.queue.release()
		return nil, fmt.Errorf("sqlite: begin: %w", err)
	}
	tx := &guestTx{store: s, namespace: namespace, stop: make(chan struct{})}
	s.writer.SetInterrupt(tx.stop)
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.limit = s.config.Clock.AfterFunc(s.config.GuestTxLimit, func() {
		tx.preempt(abi.Errorf(abi.CodeTxTooLong, "the transaction was open for longer than %s", s.config.GuestTxLimit))
	})
	s.queue.heldBy(tx, journal.Conflicts(ctx))
	return tx, nil
}

// preempt implements preemptible.
func (tx *guestTx) preempt(reason error) {
	tx.stopOnce.Do(func() {
		tx.stopped = reason
		close(tx.stop)
	})
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.endLocked(tx.stopped)
}

// endLocked rolls back, unless the transaction has ended, and releases the writer.
func (tx *guestTx) endLocked(reason error) {
	if tx.over != nil {
		return
	}
	tx.over = reason
	tx.limit.Stop()
	tx.store.writer.SetInterrupt(nil)
	rollback(tx.store.writer)
	tx.store.queue.release()
}

// interrupted tells why the transaction was stopped, if it was.
func (tx *guestTx) interrupted() error {
	select {
	case <-tx.stop:
		return tx.stopped
	default:
		return nil
	}
}

// Exec implements journal.GuestTx.
func (tx *guestTx) Exec(ctx context.Context, query string, args []any) (affected int64, err error) {
	err = tx.run(ctx, query, args, func(stmt *sqlite.Stmt, _ guestsql.Renamed) error {
		for {
			more, err := stmt.Step()
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
		// Changes would return an earlier statement's count if this one only reads.
		if tx.store.sandbox.Writes() {
			affected = int64(tx.store.writer.Changes())
		}
		return nil
	})
	return affected, err
}

// Query implements journal.GuestTx.
func (tx *guestTx) Query(ctx context.Context, query string, args []any) (columns []string, rows [][]any, err error) {
	err = tx.run(ctx, query, args, func(stmt *sqlite.Stmt, renamed guestsql.Renamed) error {
		columns = tx.store.columnNames(stmt, renamed)
		size := 0
		for {
			more, err := stmt.Step()
			if err != nil || !more {
				return err
			}
			row := make([]any, len(columns))
			for i := range row {
				var n int
				row[i], n = columnValue(stmt, i)
				// Looked at after each column: a row alone can be far too large.
				if size += n; size > abi.MaxBody {
					return abi.Errorf(abi.CodeSQLResult, "the rows of the query have more than %d bytes", abi.MaxBody)
				}
			}
			size += 5
			rows = append(rows, row)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return columns, rows, nil
}

// run compiles a statement in the sandbox and hands it to use.
func (tx *guestTx) run(
	ctx context.Context, query string, args []any, use func(*sqlite.Stmt, guestsql.Renamed) error,
) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.over != nil {
		return tx.over
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { tx.preempt(ctx.Err()) })()

	s := tx.store
	err := tx.runGuestLocked(query, args, use)
	if reason := tx.interrupted(); reason != nil {
		tx.endLocked(reason)
		return reason
	}
	switch {
	case errors.Is(err, journal.ErrConflict):
		tx.endLocked(err)
	case s.writer.AutocommitEnabled():
		// INSERT OR ROLLBACK and full disks end the transaction. A statement after it would commit by itself,
		// without its journal entry.
		tx.endLocked(abi.Errorf(abi.CodeSQL, "an earlier statement rolled the transaction back"))
		if err == nil {
			err = tx.over
		}
	}
	return err
}

func (tx *guestTx) runGuestLocked(
	query string, args []any, use func(*sqlite.Stmt, guestsql.Renamed) error,
) (err error) {
	s := tx.store
	defer s.sandbox.Enter(guestsql.Rows, tx.namespace, tx.stop)()
	renamed := s.sandbox.Rename(query)
	stmt, err := s.prepareGuest(renamed.Text)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Finalize() }()
	if err := bindArgs(stmt, args); err != nil {
		return err
	}
	err = use(stmt, renamed)
	if abi.CodeOf(err) != "" {
		return err
	}
	return s.guestError(err)
}

// Commit implements journal.GuestTx.
func (tx *guestTx) Commit(ctx context.Context, w journal.Write) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	if tx.over != nil {
		return tx.over
	}
	if err := ctx.Err(); err != nil {
		tx.endLocked(err)
		return err
	}
	s := tx.store
	s.writer.SetInterrupt(nil)
	if reason := tx.interrupted(); reason != nil {
		tx.endLocked(reason)
		return reason
	}
	err := tx.commitLocked(w)
	if err != nil {
		s.mail.forget()
	}
	tx.endLocked(errTxOver)
	return err
}

func (tx *guestTx) commitLocked(w journal.Write) error {
	b := newBatch(tx.store.writer, &tx.store.mail)
	result, err := b.apply(&w)
	switch {
	case err != nil:
		return fmt.Errorf("sqlite: commit of execution %s: %w", w.ID, err)
	case result.Err != nil:
		return fmt.Errorf("sqlite: commit of execution %s: %w", w.ID, result.Err)
	case result.Existed:
		return fmt.Errorf("sqlite: commit of execution %s: what it starts or settles is there already", w.ID)
	}
	err = tx.store.commit()
	if err != nil && isConstraint(err) {
		// Only a deferred constraint of the module's own tables waits for COMMIT.
		return abi.Errorf(abi.CodeSQL, "%s", sqliteMessage(err))
	}
	if err != nil {
		return fmt.Errorf("sqlite: commit of execution %s: %w", w.ID, err)
	}
	return nil
}

// Rollback implements journal.GuestTx.
func (tx *guestTx) Rollback(context.Context) error {
	tx.mu.Lock()
	defer tx.mu.Unlock()
	tx.endLocked(errTxOver)
	return nil
}
