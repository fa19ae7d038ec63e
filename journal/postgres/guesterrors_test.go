package postgres

import (
	"context"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestStatementFailure(t *testing.T) {
	t.Parallel()
	tooLong := abi.Errorf(abi.CodeTxTooLong, "too long")
	server := func(code string) error { return &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: code} }
	ended := func(code string) error { return &pgconn.PgError{SeverityUnlocalized: "FATAL", Code: code} }
	gaveUp := failedStatement{callerErr: context.Canceled, overdue: true}
	for name, c := range map[string]struct {
		err   error
		known failedStatement
		code  abi.Code
		is    error
		fatal bool
	}{
		"refused before it was sent": {
			abi.Errorf(abi.CodeSQLArgument, "no"), failedStatement{}, abi.CodeSQLArgument, nil, false,
		},
		"serialization failure": {server(stateSerialization), failedStatement{}, "", journal.ErrConflict, true},
		"conflict while cancelled": {
			server(stateDeadlock), failedStatement{resultErr: errTooLarge()}, "", journal.ErrConflict, true,
		},
		"too many rows": {
			server(stateQueryCanceled), failedStatement{resultErr: errTooLarge()}, abi.CodeSQLResult, nil, false,
		},
		"statement timeout": {server(stateQueryCanceled), failedStatement{}, abi.CodeTxTooLong, nil, true},
		"no right":          {server(statePrivilege), failedStatement{}, abi.CodeSQLForbidden, nil, false},
		"duplicate key":     {server(stateUniqueViolation), failedStatement{}, abi.CodeSQL, nil, false},
		"a row beyond all bounds": {
			&pgproto3.ExceededMaxBodyLenErr{}, failedStatement{}, abi.CodeSQLResult, nil, true,
		},
		"the caller gave up": {
			io.ErrUnexpectedEOF, failedStatement{callerErr: context.Canceled}, "", context.Canceled, true,
		},
		"the server was silent": {context.DeadlineExceeded, failedStatement{}, abi.CodeStore, nil, true},
		"connection lost":       {io.ErrUnexpectedEOF, failedStatement{}, abi.CodeStore, nil, true},
		"the server works on it": {
			context.DeadlineExceeded, failedStatement{overdue: true}, abi.CodeTxTooLong, nil, true,
		},
		"the caller gave up on it": {context.Canceled, gaveUp, "", context.Canceled, true},
		"idle for too long":        {ended(stateIdleTimeout), failedStatement{}, abi.CodeTxTooLong, nil, true},
		"a limit of the server's":  {ended(stateTxTimeout), failedStatement{}, abi.CodeTxTooLong, nil, true},
		"terminated":               {ended("57P01"), failedStatement{}, abi.CodeStore, nil, true},
	} {
		c.known.tooLong = tooLong
		fatal, answer := statementFailure(c.err, c.known)
		require.Equal(t, c.fatal, fatal, name)
		if c.is != nil {
			require.ErrorIs(t, answer, c.is, name)
			continue
		}
		require.Equal(t, c.code, abi.CodeOf(answer), name)
		require.NotErrorIs(t, answer, journal.ErrConflict, name)
	}
}
