package execution

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/internal/sqlitetest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// livesStore opens stores of the kind that CRUSTER_LIVES_STORE names, or in memory.
func livesStore(t *testing.T) (open func(t *testing.T) journal.Store) {
	return openerOf(t, cmp.Or(os.Getenv("CRUSTER_LIVES_STORE"), "memory"))
}

// openerOf opens stores for random lives: memory, sqlite or postgres. The returned function is
// called in the bubble of each life, whose time the goroutines of the store go by.
func openerOf(t *testing.T, kind string) (open func(t *testing.T) journal.Store) {
	quiet := slog.New(slog.DiscardHandler)
	switch kind {
	case "memory":
		return func(*testing.T) journal.Store { return memory.New() }
	case "sqlite":
		fresh := sqlitetest.Folders(t)
		return func(t *testing.T) journal.Store {
			store, err := sqlite.Open(context.Background(), sqlite.Config{Dir: fresh(t), Logger: quiet})
			return opened(t, store, err)
		}
	case "postgres":
		config := postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Logger: quiet}
		return func(t *testing.T) journal.Store {
			pgtest.Empty(t, config.Schema)
			store, err := postgres.Open(context.Background(), config)
			return opened(t, store, err)
		}
	default:
		require.FailNow(t, "CRUSTER_LIVES_STORE names no store", kind)
		return nil
	}
}

func opened(t *testing.T, store journal.Store, err error) journal.Store {
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}
