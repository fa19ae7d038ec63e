package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatementsAreQualified(t *testing.T) {
	t.Parallel()
	st := newStatements("my_schema")
	require.Equal(t, `"my_schema"."shards"`, st.shards)
	for name, text := range st.prepared {
		require.NotContains(t, text, "{", name)
		require.NotContains(t, text, "}", name)
	}
	require.Contains(t, st.prepared[stmtFence], `"my_schema"."expect"(count(*), $3, 'CR001')`)
	require.Len(t, st.prepared, len(journalStatements))
}
