package postgres_test

import (
	"log/slog"
	"os"
	"testing"
	"time"

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
	store, err := postgres.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func harness(t *testing.T) storetest.Harness {
	schema := pgtest.Schema(t)
	return storetest.Harness{
		Durable: true, Guest: true, Shared: true,
		Open: func(t testing.TB) journal.Store { return open(t, postgres.Config{Schema: schema}) },
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

func TestDifferential(t *testing.T) {
	t.Parallel()
	storetest.RunDifferential(t, harness)
}
