package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// failedStatement holds the facts about a failed statement of a guest.
type failedStatement struct {
	callerErr error // why the caller gave up, if it did
	resultErr error // the error in the rows, if any: then the store cancelled the statement itself
	tooLong   error // the answer to a transaction that was open for too long
	overdue   bool  // the server was seen to work on it after it should have ended it
}

// statementFailure turns the failure of a statement into the guest's answer, and tells whether the failure is fatal:
// whether the transaction ends with it.
func statementFailure(err error, f failedStatement) (fatal bool, answer error) {
	var own *abi.Error
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &own):
		return false, own
	case errors.As(err, &pgErr) && rolledBack(err):
		switch {
		case pgErr.Code == stateReadOnly:
			return true, abi.Errorf(abi.CodeStore, "%s", messageOf(err)) // the session's fault, not the statement's
		case isConflict(err):
			return true, fmt.Errorf("postgres: guest statement: %w: %w", journal.ErrConflict, err)
		case f.resultErr != nil:
			return false, f.resultErr
		case pgErr.Code == stateQueryCanceled:
			return true, f.tooLong
		case pgErr.Code == statePrivilege:
			return false, abi.Errorf(abi.CodeSQLForbidden, "%s", messageOf(err))
		}
		return false, abi.Errorf(abi.CodeSQL, "%s", messageOf(err))
	case errors.As(err, &pgErr) && (pgErr.Code == stateIdleTimeout || pgErr.Code == stateTxTimeout):
		return true, f.tooLong // the server ended the session for it
	case tooWide(err):
		return true, errTooLarge()
	case f.callerErr != nil:
		return true, fmt.Errorf("postgres: guest statement: %w", f.callerErr)
	case f.overdue:
		return true, f.tooLong
	}
	return true, abi.Errorf(abi.CodeStore, "the connection to the database was lost: %v", err)
}
