package postgres

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestGuestNamesAreDistinctIdentifiers(t *testing.T) {
	t.Parallel()
	require.Equal(t, "cruster__default", guestName("cruster", "default"))
	schemas := []string{"cruster", "cruster_a", "a", "a_b", strings.Repeat("s", maxSchema)}
	namespaces := []string{
		"default", "Default", "a", "a_b", "b", "a__b", "_a", "x__a", "x__", "", "with-dash", "ünï", `"; DROP SCHEMA cruster; --`,
		strings.Repeat("n", 36), strings.Repeat("n", 37), strings.Repeat("n", 1000),
	}
	seen := map[string]string{}
	for _, schema := range schemas {
		seen[schema] = "a schema of Cruster"
	}
	for _, schema := range schemas {
		for _, namespace := range namespaces {
			name := guestName(schema, namespace)
			require.LessOrEqual(t, len(name), 63, "Postgres would cut it off")
			require.Regexp(t, schemaPattern, name)
			require.Empty(t, seen[name], "%s of %s and %s", name, schema, namespace)
			seen[name] = schema + " " + namespace
		}
	}
}

func TestOnlyAnErrorOfTheServerDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"connection lost":       {io.ErrUnexpectedEOF, journal.ErrUndecided},
		"caller gave up":        {context.DeadlineExceeded, journal.ErrUndecided},
		"server shuts down":     {&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, journal.ErrUndecided},
		"server panics":         {&pgconn.PgError{SeverityUnlocalized: "PANIC", Code: "XX000"}, journal.ErrUndecided},
		"serialization failure": {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: stateSerialization}, journal.ErrConflict},
		"deadlock":              {&pgconn.PgError{Severity: "ERROR", Code: stateDeadlock}, journal.ErrConflict},
	} {
		require.ErrorIs(t, afterCommit("op", c.err), c.want, name)
	}
	for _, err := range []error{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "53100"}, errRolledBack} {
		got := afterCommit("op", err)
		require.ErrorIs(t, got, err)
		require.False(t, errors.Is(got, journal.ErrUndecided) || errors.Is(got, journal.ErrConflict))
	}
}
