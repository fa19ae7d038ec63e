package postgres

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// failedStatement is what is known about a statement of a guest that failed.
type failedStatement struct {
	callerErr error // why the caller gave up, if it did
	late      bool  // the deadline of the transaction has passed
	resultErr error // what was wrong with the rows, if anything: then the store cancelled the statement itself
	tooLong   error // the answer to a transaction that was open for too long
}

// statementFailure turns the failure of a statement into the guest's answer, and
// tells whether the transaction ends with it.
func statementFailure(err error, f failedStatement) (answer error, fatal bool) {
	var own *abi.Error
	var pgErr *pgconn.PgError
	switch {
	case errors.As(err, &own):
		return own, false
	case errors.As(err, &pgErr) && rolledBack(err):
		switch {
		case isConflict(err):
			return fmt.Errorf("postgres: guest statement: %w: %w", journal.ErrConflict, err), true
		case f.resultErr != nil:
			return f.resultErr, false
		case pgErr.Code == stateQueryCanceled:
			return f.tooLong, true
		case pgErr.Code == statePrivilege:
			return abi.Errorf(abi.CodeSQLForbidden, "%s", messageOf(err)), false
		}
		return abi.Errorf(abi.CodeSQL, "%s", messageOf(err)), false
	case tooWide(err):
		return errTooLarge(), true
	case f.callerErr != nil:
		return fmt.Errorf("postgres: guest statement: %w", f.callerErr), true
	case f.late:
		return f.tooLong, true
	}
	return abi.Errorf(abi.CodeStore, "the connection to the database was lost: %v", err), true
}
