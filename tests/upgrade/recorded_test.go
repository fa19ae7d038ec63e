package upgrade_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

// recordedStore begins the names of stores that the host of commit c78dce95 has written and left in good order: of the
// last version before rows were keyed by run, and before callees sent their results. In them
//
//   - parent/W/p waits for child/W/open, which it has started, and finder/W/f for the same one, which it has found;
//   - child/W/open waits for its deferred gate, and child/W/done has ended;
//   - sleeper/W/s sleeps for a second, which was over while no host ran;
//   - waiting/W/w waits for its deferred gate. Its deferred later is settled and not asked for, its inbox has a
//     signal, and it was asked to stop.
const recordedStore = "testdata/store-c78dce95"

// recordedSchema is the schema of the dump (pg_dump --schema=recorded_store --inserts --no-owner --no-privileges).
const recordedSchema = "recorded_store"

// TestAStoreOfAnEarlierVersionGoesOn: the store of an earlier version's host is migrated, and its executions go on
// to their ends.
func TestAStoreOfAnEarlierVersionGoesOn(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(t *testing.T) journal.Store{
		"sqlite": recordedSQLite, "postgres": recordedPostgres,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			e := harness.Engine(t, store)
			ends := func(name string) {
				row := harness.Wait(t, e, name)
				require.Equal(t, journal.Completed, row.State, "%s: %v", name, row.Error)
				require.Equal(t, abi.Nil, row.Value)
			}
			ends("sleeper/W/s")
			ends("child/W/done")
			requireWaiting(t, e, store)
			gate := journal.Deferred{Name: "gate", Value: abi.MustMarshal(true)}
			require.NoError(t, e.Stop(t.Context()))

			e = harness.Engine(t, store)
			require.NoError(t, e.Executions().Settle(t.Context(), "", "child/W/open", gate))
			for _, name := range []string{"child/W/open", "parent/W/p", "finder/W/f"} {
				ends(name)
			}
			require.NoError(t, e.Executions().Settle(t.Context(), "", "waiting/W/w", gate))
			ends("waiting/W/w")
		})
	}
}

// requireWaiting checks the messages that the waiting execution got and sent under the earlier host.
func requireWaiting(t *testing.T, e *host.Engine, store journal.Store) {
	t.Helper()
	row, err := e.Observer().Poll(t.Context(), "", "waiting/W/w")
	require.NoError(t, err)
	require.Equal(t, journal.Running, row.State, "%v", row.Error)
	require.NotNil(t, row.Interrupt)
	require.Equal(t, "close the shop", row.Interrupt.Reason)
	later, err := journal.FindDeferred(t.Context(), store, row.Settlements(), "later")
	require.NoError(t, err)
	require.Equal(t, abi.MustMarshal("settled"), later.Value)
	inbox, _, err := store.Messages(t.Context(), row.Receiver(), 0, journal.PageLimit{Entries: 10})
	require.NoError(t, err)
	require.Len(t, inbox, 1)
	require.Equal(t, "paid", inbox[0].Name)
	require.Equal(t, abi.MustMarshal(7), inbox[0].Value)
}

func recordedSQLite(t *testing.T) journal.Store {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, sqlite.FileName), unpacked(t, recordedStore+".db.gz"), 0o600))
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Logger: harness.Logger(t)})
	require.NoError(t, err)
	return store
}

func recordedPostgres(t *testing.T) journal.Store {
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	dump := strings.ReplaceAll(string(unpacked(t, recordedStore+".sql.gz")), recordedSchema, schema)
	_, err = conn.PgConn().Exec(t.Context(), dump).ReadAll()
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	store, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema, Logger: harness.Logger(t)})
	require.NoError(t, err)
	return store
}

func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	packed, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(packed)
	require.NoError(t, err)
	return data
}
