package postgres_test

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func open(t testing.TB, c postgres.Config) *postgres.Store {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	if c.DSN == "" {
		c.DSN = pgtest.DSN(t)
	}
	if c.MaxConns == 0 {
		c.MaxConns = 4
	}
	// A slow machine must not run into limits that a test is not about.
	if c.GuestTxLimit == 0 {
		c.GuestTxLimit = time.Hour
	}
	if c.CallLimit == 0 {
		c.CallLimit = 15 * time.Minute
	}
	store, err := postgres.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func harness(t *testing.T) storetest.Harness {
	schema := pgtest.Emptied(t)
	return storetest.Harness{
		Durable: true, Guest: true, Shared: true,
		Open:       func(t testing.TB) journal.Store { return open(t, postgres.Config{Schema: schema}) },
		SaveShards: func(t testing.TB) func(testing.TB) { return saveShards(t, schema) },
	}
}

// saveShards copies the table of shards, and puts the copy back, once.
func saveShards(t testing.TB, schema string) (restore func(testing.TB)) {
	run := func(t testing.TB, sql string) {
		t.Helper()
		admin, err := pgx.Connect(t.Context(), pgtest.DSN(t))
		require.NoError(t, err)
		defer admin.Close(t.Context())
		_, err = admin.Exec(t.Context(), replaceSchema(sql, schema))
		require.NoError(t, err)
	}
	run(t, `CREATE TABLE SCHEMA.saved AS TABLE SCHEMA.shards`)
	return func(t testing.TB) {
		run(t, `BEGIN; DELETE FROM SCHEMA.shards; INSERT INTO SCHEMA.shards TABLE SCHEMA.saved; DROP TABLE SCHEMA.saved;
			COMMIT`)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

// TestDifferential has one store that is emptied for each check, and stays open like a long-running
// host's: its connections have their plans. A check that fails shows its own operations; if it does
// not fail alone, earlier ones matter.
func TestDifferential(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	store := open(t, postgres.Config{Schema: schema})
	storetest.RunDifferential(t, func(t *testing.T) storetest.Harness {
		return storetest.Harness{Durable: true, Guest: true, Shared: true, Open: func(t testing.TB) journal.Store {
			pgtest.Empty(t, schema)
			return kept{store}
		}}
	})
}

// kept is a store that stays open.
type kept struct{ journal.Store }

func (kept) Close() error { return nil }

func TestDifferentialCallsEveryMethod(t *testing.T) {
	t.Parallel()
	storetest.RunDifferentialCalls(t, harness)
}
