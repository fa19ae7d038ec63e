package postgres

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestOnlyAnErrorOfTheServerDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"connection lost":   {io.ErrUnexpectedEOF, journal.ErrUndecided},
		"caller gave up":    {context.DeadlineExceeded, journal.ErrUndecided},
		"server shuts down": {&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, journal.ErrUndecided},
		"server panics":     {&pgconn.PgError{SeverityUnlocalized: "PANIC", Code: "XX000"}, journal.ErrUndecided},
		"serialization failure": {
			&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: stateSerialization}, journal.ErrConflict,
		},
		"deadlock": {&pgconn.PgError{Severity: "ERROR", Code: stateDeadlock}, journal.ErrConflict},
	} {
		require.ErrorIs(t, afterCommit("op", c.err), c.want, name)
	}
	for _, err := range []error{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "53100"}, errRolledBack} {
		got := afterCommit("op", err)
		require.ErrorIs(t, got, err)
		require.False(t, errors.Is(got, journal.ErrUndecided) || errors.Is(got, journal.ErrConflict))
	}
}

func TestMessageOf(t *testing.T) {
	t.Parallel()
	require.Equal(
		t, "duplicate key: (id)=(1) (SQLSTATE 23505)",
		messageOf(&pgconn.PgError{Message: "duplicate key", Detail: "(id)=(1)", Code: "23505"}),
	)
	require.Equal(
		t, "division by zero (SQLSTATE 22012)", messageOf(&pgconn.PgError{Message: "division by zero", Code: "22012"}),
	)
	require.Equal(t, "unexpected EOF", messageOf(io.ErrUnexpectedEOF))
}
