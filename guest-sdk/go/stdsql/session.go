package stdsql

import (
	"database/sql"
	"errors"
	"sync"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// session is the progress of an attempt with its transaction. All databases that are opened in an
// attempt share it. The SDK knows whether statements of the attempt, also those of its Tx, may have
// changed something (guest.Keep).
//
// Invariants: a Rollback undoes the work since its Begin and nothing before it, and a Commit that
// succeeded is of a part that is stored with the result. There is one transaction: statements of
// the attempt's Tx that run while a part is open belong to it.
type session struct {
	tx   *cruster.Tx
	keep *guest.Keep

	mu        sync.Mutex
	open      *part     // guarded by mu
	committed bool      // guarded by mu; a part was
	opened    []*sql.DB // guarded by mu
}

// part is the work between Begin and Commit or Rollback.
type part struct {
	session *session
}

func (s *session) begin() (*part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open != nil:
		return nil, refused("a transaction is open already: an activity has one").WithHint(
			"End it with Commit or Rollback first, or use it here too.",
		)
	case s.committed:
		return nil, refused(
			"an activity commits once, with its result: a second transaction would not be stored before the first",
		).
			WithHint("Do both in one transaction, or make them two activities.")
	case s.keep.Wrote.Load():
		return nil, refused("statements ran outside of a transaction before: they would be undone by its Rollback").
			WithHint("Begin the transaction before the first statement that changes something, or use none: all " +
				"statements of an activity commit together.")
	}
	s.open = &part{s}
	return s.open, nil
}

// Commit implements driver.Tx: the work of the part is stored with the result.
func (p *part) Commit() error { return p.end(true) }

// Rollback implements driver.Tx.
func (p *part) Rollback() error { return p.end(false) }

func (p *part) end(commit bool) error {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	if p.session.open != p {
		return refused("the transaction is over").WithHint(
			"Commit or Rollback it once; begin another after a Rollback only.",
		)
	}
	if !commit {
		if err := p.session.tx.Rollback(); err != nil {
			return err
		}
	}
	p.session.open, p.session.committed = nil, commit
	return nil
}

// admit checks that a statement of a connection may run.
func (s *session) admit(c *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil && c.part != s.open {
		return refused("a transaction is open, and the statement is not one of it").WithHint(
			"Use the sql.Tx; or Commit it first.",
		)
	}
	return nil
}

// Close ends the session with its attempt. A part that was not committed is undone, as a database does when a
// connection ends.
func (s *session) Close() error {
	s.mu.Lock()
	p, opened := s.open, s.opened
	s.opened = nil
	s.mu.Unlock()
	var err error
	if p != nil {
		err = p.Rollback()
	}
	for _, db := range opened {
		err = errors.Join(err, db.Close())
	}
	return err
}

// refused is the error of a use that an activity's transaction does not allow. Another attempt would do the same.
func refused(format string, args ...any) *abi.Error {
	return abi.Errorf(abi.CodeWrongContext, format, args...)
}
