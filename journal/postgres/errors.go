package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// SQLSTATEs that are told apart. The codes beginning with CR are raised by the function expect of
// our own schema.
const (
	stateDuplicateTable  = "42P07"
	stateFenced          = "CR001"
	stateMissing         = "CR002"
	stateMail            = "CR003" // an inbox is not as it should be
	stateFull            = "CR004" // an inbox has no room
	stateTaken           = "CR005" // an entry has a sequence number that is taken
	stateUniqueViolation = "23505"
	stateSerialization   = "40001"
	stateDeadlock        = "40P01"
	stateQueryCanceled   = "57014"
	stateIdleTimeout     = "25P03" // ends the session
	stateTxTimeout       = "25P04" // ends the session; of servers from version 17 on, if the operator has set it
	statePrivilege       = "42501"
	stateReadOnly        = "25006"
	stateLockTimeout     = "55P03"
	stateDiskFull        = "53100"
	stateDuplicateObject = "42710"
)

var errRolledBack = errors.New("the server rolled the transaction back")

// sqlState is the SQLSTATE of err, or empty if the server sent none.
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// isConflict tells whether the database rolled back because of others.
func isConflict(err error) bool {
	switch sqlState(err) {
	case stateSerialization, stateDeadlock:
		return true
	}
	return false
}

// rolledBack tells whether err proves that a transaction whose COMMIT was under way did not take effect. An ERROR does:
// the server skips the COMMIT behind it. Whatever ends the connection does not, be it a broken socket or a FATAL
// message: the transaction may have been committed before that.
func rolledBack(err error) bool {
	if errors.Is(err, errRolledBack) {
		return true
	}
	var e *pgconn.PgError
	if errors.As(err, &e) {
		severity := e.SeverityUnlocalized
		if severity == "" {
			severity = e.Severity
		}
		return severity == "ERROR"
	}
	return pgconn.SafeToRetry(err)
}

// afterCommit names the failure of a transaction whose COMMIT was under way.
func afterCommit(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case !rolledBack(err):
		return fmt.Errorf("%s: %w: %w", op, journal.ErrUndecided, err)
	}
	return beforeCommit(op, err)
}

// beforeCommit names the failure of a transaction whose COMMIT was not sent.
func beforeCommit(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case isConflict(err):
		return fmt.Errorf("%s: %w: %w", op, journal.ErrConflict, err)
	case sqlState(err) == stateDiskFull:
		return fmt.Errorf("%s: %w: %w", op, journal.ErrFull, err)
	}
	return fmt.Errorf("%s: %w", op, err)
}

// messageOf returns the database's message, for the author of a statement.
func messageOf(err error) string {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := e.Message
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", text, e.Code)
}

// noConnection is the answer to an operator whose database cannot be reached.
func noConnection(err error) error {
	return abi.Errorf(abi.CodeStore, "cannot connect to Postgres: %v", err).
		WithHint("Check that the database runs and that the connection string is right.")
}
