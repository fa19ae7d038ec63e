package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestRoleStatementsAreQuoted(t *testing.T) {
	t.Parallel()
	require.Equal(t, `SET LOCAL ROLE NONE`, setRole(""))
	require.Equal(t, `SET LOCAL ROLE "a""b"`, setRole(`a"b`))
	require.Equal(t, `"a""b", pg_temp`, searchPath(`a"b`))
}

func TestPrivilegeSaysWhatToRun(t *testing.T) {
	t.Parallel()
	err := privilege(&pgconn.PgError{Code: statePrivilege}, "create role x", "CREATE ROLE x")
	require.Equal(t, abi.CodeStorePrivilege, abi.CodeOf(err))
	require.Equal(t, "Run as a superuser: CREATE ROLE x;", abi.AsError(err).Hint)
	other := errors.New("other")
	require.Equal(t, other, privilege(other, "", ""))
}
