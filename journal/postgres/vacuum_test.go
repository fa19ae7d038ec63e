package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// coldTables are written when something is deployed or the schema changes, and no more often.
var coldTables = []string{"deployments", "goose_db_version", "guest_migrations", "modules"}

// Each table that is written all the time has its settings for autovacuum: with the server's own a table waits until a
// fifth of its rows are dead, which for some here is never, and for others much too late.
func TestHotTablesAreVacuumed(t *testing.T) {
	t.Parallel()
	store, _ := openInside(t)
	rows, err := store.main.Query(
		t.Context(),
		`SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'
		AND NOT coalesce(reloptions::text LIKE '%autovacuum_vacuum_scale_factor=%'
			AND reloptions::text LIKE '%autovacuum_vacuum_threshold=%', false)`,
		quote(store.config.Schema),
	)
	require.NoError(t, err)
	without, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, coldTables, without)
}
