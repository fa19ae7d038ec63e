package sqlite_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal/sqlite"
)

func TestDuplicateColumnNames(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	tx := b.begin(t)
	columns, rows, err := tx.Query(
		b.ctx, "SELECT a.id, b.id, 'x' AS id, owner FROM accounts a JOIN accounts b USING (owner)", nil,
	)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "id", "id", "owner"}, columns)
	require.Equal(t, [][]any{{int64(1), int64(1), "x", "ada"}}, rows)
}
