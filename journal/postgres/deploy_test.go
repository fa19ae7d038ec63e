package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestPickSteps(t *testing.T) {
	t.Parallel()
	steps, err := pickSteps("bank", []abi.Migration{
		{Version: 3, Dialect: abi.DialectAny},
		{Version: 1, Dialect: abi.DialectPostgres},
		{Version: 2, Dialect: abi.DialectSQLite},
		{Version: 1, Dialect: abi.DialectSQLite},
	})
	require.NoError(t, err)
	require.Equal(
		t, []abi.Migration{{Version: 1, Dialect: abi.DialectPostgres}, {Version: 3, Dialect: abi.DialectAny}}, steps,
	)
	_, err = pickSteps("bank", []abi.Migration{{Version: 1}, {Version: 1, Dialect: abi.DialectPostgres}})
	require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err))
	require.ErrorContains(t, err, "migration 1 of deployment")
}
