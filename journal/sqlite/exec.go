package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// errEnough has a statement end before its last row.
var errEnough = errors.New("sqlite: enough rows")

// run runs one of Cruster's own statements: prepared once a handle, then reused. Each is called for every row, until it
// returns errEnough or fails.
func run(conn *sqlite.Conn, query string, bind func(*sqlite.Stmt), each func(*sqlite.Stmt) error) (err error) {
	stmt, err := conn.Prepare(query)
	if err != nil {
		return classify(err)
	}
	// A statement that is not reset holds its snapshot and its locks.
	defer func() {
		if resetErr := stmt.Reset(); err == nil && resetErr != nil {
			err = classify(resetErr)
		}
	}()
	return step(stmt, bind, each)
}

// runOnce is run for statements with too many variants to keep them.
func runOnce(conn *sqlite.Conn, query string, bind func(*sqlite.Stmt), each func(*sqlite.Stmt) error) (err error) {
	stmt, _, err := conn.PrepareTransient(query)
	if err != nil {
		return classify(err)
	}
	defer func() {
		if finalErr := stmt.Finalize(); err == nil && finalErr != nil {
			err = classify(finalErr)
		}
	}()
	return step(stmt, bind, each)
}

func step(stmt *sqlite.Stmt, bind func(*sqlite.Stmt), each func(*sqlite.Stmt) error) error {
	if bind != nil {
		bind(stmt)
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return classify(err)
		}
		if !more {
			return nil
		}
		if each != nil {
			switch err := each(stmt); {
			case errors.Is(err, errEnough):
				return nil
			case err != nil:
				return err
			}
		}
	}
}

// classify tells a collision, which may be repeated, and a full disk from other failures.
func classify(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return fmt.Errorf("%w: %w", journal.ErrConflict, err)
	case sqlite.ResultFull:
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	}
	return err
}

// read lends a read handle.
func (s *Store) read(ctx context.Context, use func(*sqlite.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.files.lost(); err != nil {
		return err
	}
	select {
	case <-s.closing:
		return errClosed
	default:
	}
	select {
	case conn := <-s.readers:
		defer func() { s.readers <- conn }()
		return use(conn)
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return errClosed
	}
}

// write runs one transaction of Cruster's own.
func (s *Store) write(ctx context.Context, use func(*sqlite.Conn) error) error {
	if err := s.queue.acquire(ctx, journalUser); err != nil {
		return err
	}
	defer s.queue.release()
	if err := s.begin(); err != nil {
		return err
	}
	// Also if use panics the handle goes back without a transaction.
	defer rollback(s.writer)
	err := use(s.writer)
	if err == nil {
		err = s.commit()
	}
	if err != nil {
		s.mail.forget()
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull, sqlite.ResultIOErr:
		s.diskFailed.Store(true)
	}
	return err
}

// begin begins a transaction of the write handle.
func (s *Store) begin() error {
	if err := s.files.check(); err != nil {
		return err
	}
	return run(s.writer, "BEGIN IMMEDIATE", nil, nil)
}

// rollback ends the transaction if there is one. It cannot fail in a way that leaves one behind.
func rollback(conn *sqlite.Conn) {
	if !conn.AutocommitEnabled() {
		conn.SetInterrupt(nil)
		_ = run(conn, "ROLLBACK", nil, nil)
	}
}

// commit commits the transaction of the write handle. If the disk fails under it the log may hold the transaction or
// not, and only a restart tells: that is journal.ErrUndecided. So it is if the files were taken away meanwhile.
func (s *Store) commit() error {
	err := run(s.writer, "COMMIT", nil, nil)
	if err == nil {
		if err := s.files.check(); err != nil {
			return fmt.Errorf("%w: %w", journal.ErrUndecided, err)
		}
		if s.commits.Add(1)%lookEvery == 0 {
			s.log.look()
		}
		return nil
	}
	rollback(s.writer)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultIOErr {
		return fmt.Errorf("%w: %w", journal.ErrUndecided, err)
	}
	return err
}

func isConstraint(err error) bool {
	return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultConstraint
}

// blob reads a value as bindValue has written it: NULL is nil.
func blob(stmt *sqlite.Stmt, col int) []byte {
	if stmt.ColumnIsNull(col) {
		return nil
	}
	b := make([]byte, stmt.ColumnLen(col))
	stmt.ColumnBytes(col, b)
	return b
}

func columnID(stmt *sqlite.Stmt, col int) (id journal.ID) {
	stmt.ColumnBytes(col, id[:])
	return id
}

// pack encodes v; nil is NULL.
func pack[T any](v *T) []byte {
	if v == nil {
		return nil
	}
	return abi.MustMarshal(v)
}

// orNull is a value, or NULL if it is the zero one.
func orNull[T comparable](v T) any {
	if v == *new(T) {
		return nil
	}
	return v
}
