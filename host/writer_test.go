package host

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/lifecycle"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
	"github.com/cruster/cruster/sharding"
)

func newTestWriter(t *testing.T, store *memory.Store) (*writer, *lifecycle.Lifecycle) {
	cfg, err := Config{Store: store, Name: "test", Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	require.NoError(t, err)
	life := lifecycle.New()
	life.MarkStarted()
	w := newWriter(cfg, life)
	w.ownership, err = sharding.Claim(t.Context(), store, "test")
	require.NoError(t, err)
	t.Cleanup(w.stop)
	return w, life
}

func startOf(key string) journal.Write {
	id := journal.IDOf("default", "orders/Process", key)
	return journal.Write{ID: id, Start: &journal.Execution{ID: id, Key: key, State: journal.Running}}
}

// TestWriterIsFenced has another owner claim the shards: the host is lost, and says
// so from then on.
func TestWriterIsFenced(t *testing.T) {
	t.Parallel()
	store := memory.New()
	w, life := newTestWriter(t, store)
	_, err := w.Commit(startOf("a"))
	require.NoError(t, err)
	_, err = store.ClaimShards(t.Context(), "another")
	require.NoError(t, err)
	_, err = w.Commit(startOf("b"))
	require.ErrorIs(t, err, journal.ErrFenced)
	require.Equal(t, abi.CodeFenced, abi.CodeOf(life.Lost()))
	require.True(t, life.Over())
	_, err = w.Commit(startOf("c"))
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "a write that was withdrawn says why")
}

// fencedTx is a transaction whose commit is refused.
type fencedTx struct{ journal.GuestTx }

func (fencedTx) Commit(context.Context, journal.Write) error { return journal.ErrFenced }

func TestTransactionsAreFenced(t *testing.T) {
	t.Parallel()
	w, life := newTestWriter(t, memory.New())
	require.ErrorIs(t, w.CommitTx(t.Context(), fencedTx{}, startOf("a")), journal.ErrFenced)
	require.Error(t, life.Lost())
}

func TestWriteAfterTheEnd(t *testing.T) {
	t.Parallel()
	w, life := newTestWriter(t, memory.New())
	life.Drain()
	life.End()
	_, err := w.Commit(startOf("a"))
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
}
