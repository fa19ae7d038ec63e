package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
	"github.com/cruster/cruster/sharding"
)

func newTestWriter(t *testing.T, store journal.Store) (*writer, *hoststate.State) {
	cfg, err := Config{Store: store, Name: "test", Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	require.NoError(t, err)
	state := hoststate.New()
	state.MarkStarted()
	w := newWriter(cfg, state, nil)
	w.ownership, err = sharding.Claim(t.Context(), store, "test")
	require.NoError(t, err)
	t.Cleanup(w.stop)
	return w, state
}

func startOf(key string) journal.Write {
	id := journal.IDOf("default", "orders/Process", key)
	return journal.Write{
		ID:    id,
		Run:   journal.RunID(id),
		Start: &journal.Execution{ID: id, Run: journal.RunID(id), Key: key, State: journal.Running},
	}
}

// TestWriterIsFenced has another owner claim the shards: the host is lost, and says so from then on.
func TestWriterIsFenced(t *testing.T) {
	t.Parallel()
	store := memory.New()
	w, state := newTestWriter(t, store)
	_, err := w.Commit(startOf("a"))
	require.NoError(t, err)
	_, err = store.ClaimShards(t.Context(), "another")
	require.NoError(t, err)
	_, err = w.Commit(startOf("b"))
	require.ErrorIs(t, err, journal.ErrFenced)
	require.Equal(t, abi.CodeFenced, abi.CodeOf(state.Lost()))
	require.True(t, state.Over())
	_, err = w.Commit(startOf("c"))
	require.Equal(t, abi.CodeFenced, abi.CodeOf(err), "a write that was withdrawn says why")
}

// heldStore commits when it is told to.
type heldStore struct {
	*memory.Store
	alone   bool
	proceed chan struct{}
}

func (s *heldStore) GuestsAlone() bool { return s.alone }

func (s *heldStore) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	<-s.proceed
	return s.Store.Commit(ctx, writes)
}

// TestWritesShareCommits has more and more writes under way. From some on the next one shares its commit, if the store
// commits them while a transaction of an activity is open.
func TestWritesShareCommits(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := &heldStore{Store: memory.New(), alone: alone, proceed: make(chan struct{})}
			w, _ := newTestWriter(t, store)
			for i := range crowd {
				require.False(t, w.Shares())
				go func() { _, _ = w.Commit(startOf(fmt.Sprint(i))) }()
				synctest.Wait()
			}
			require.Equal(t, !alone, w.Shares())
			close(store.proceed)
			synctest.Wait()
			require.False(t, w.Shares())
		})
	}
}

// TestWritesAreCountedInBytes: the bytes of a write count from when it is handed over until it is answered.
func TestWritesAreCountedInBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &heldStore{Store: memory.New(), proceed: make(chan struct{})}
		w, _ := newTestWriter(t, store)
		var all int64
		for i := range 3 {
			write := startOf(fmt.Sprint(i))
			write.Start.Input = make([]byte, 1<<20)
			all += int64(write.Size())
			go func() { _, _ = w.Commit(write) }()
		}
		synctest.Wait()
		require.Greater(t, all, int64(3<<20))
		require.Equal(t, all, w.queuedBytes())
		close(store.proceed)
		synctest.Wait()
		require.Zero(t, w.queuedBytes())
	})
}

// committingTx is a transaction that looks around while it commits.
type committingTx struct {
	journal.GuestTx
	look func()
}

func (tx committingTx) Commit(context.Context, journal.Write) error {
	tx.look()
	return nil
}

// TestTransactionsAreCountedInBytes: so are the writes that transactions of activities carry.
func TestTransactionsAreCountedInBytes(t *testing.T) {
	t.Parallel()
	w, _ := newTestWriter(t, memory.New())
	write := startOf("a")
	write.Start.Input = make([]byte, 1<<20)
	looked := false
	require.NoError(t, w.CommitTx(t.Context(), committingTx{look: func() {
		looked = true
		require.EqualValues(t, write.Size(), w.queuedBytes())
	}}, write))
	require.True(t, looked)
	require.Zero(t, w.queuedBytes())
}

// TestMessagesArePutOffWhileWritesWait: messages of callers are refused for now, and change
// nothing.
func TestMessagesArePutOffWhileWritesWait(t *testing.T) {
	t.Parallel()
	e := newTestEngine(t, memory.New())
	w := e.writer
	defer w.count(int(e.cfg.Memory))()
	_, update := e.Executions().Update(t.Context(), "", "a/B/c", UpdateRequest{Name: "u"})
	_, call := e.Entities().Call(t.Context(), EntityRequest{Entity: "a/B/c", Operation: "o"})
	for what, err := range map[string]error{
		"an update": update, "a call": call,
		"a signal":     e.Executions().Signal(t.Context(), "", "a/B/c", SignalRequest{Name: "s"}),
		"a settlement": e.Executions().Settle(t.Context(), "", "a/B/c", journal.Deferred{Name: "d"}),
		"a send":       e.Entities().Send(t.Context(), EntityRequest{Entity: "a/B/c", Operation: "o"}),
	} {
		require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err), what)
		require.NotZero(t, RetryDelay(err), what)
	}
}

// fencedTx is a transaction whose commit is refused.
type fencedTx struct{ journal.GuestTx }

func (fencedTx) Commit(context.Context, journal.Write) error { return journal.ErrFenced }

func TestTransactionsAreFenced(t *testing.T) {
	t.Parallel()
	w, state := newTestWriter(t, memory.New())
	require.ErrorIs(t, w.CommitTx(t.Context(), fencedTx{}, startOf("a")), journal.ErrFenced)
	require.Error(t, state.Lost())
}

func TestSweepsAndDeploymentsAreFenced(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(w *writer) error{
		"a sweep": func(w *writer) error { _, err := w.Sweep(t.Context(), journal.Never, 1); return err },
		"a deployment": func(w *writer) error {
			_, err := w.Deploy(
				t.Context(), journal.Module{Digest: "m"},
				journal.Deployment{Namespace: "default", Name: "d", Digest: "m"}, nil,
			)
			return err
		},
	} {
		store := memory.New()
		w, state := newTestWriter(t, store)
		for _, key := range []string{"a", "b"} { // one for each sweep
			over := startOf(key)
			over.Start.State, over.Start.FinishedAt = journal.Completed, 1
			_, err := w.Commit(over)
			require.NoError(t, err)
		}
		require.NoError(t, call(w), name)
		_, err := store.ClaimShards(t.Context(), "another")
		require.NoError(t, err)
		require.ErrorIs(t, call(w), journal.ErrFenced, name)
		require.Equal(t, abi.CodeFenced, abi.CodeOf(state.Lost()), name)
	}
}

func TestWriteAfterTheEnd(t *testing.T) {
	t.Parallel()
	w, state := newTestWriter(t, memory.New())
	state.Drain()
	state.End()
	_, err := w.Commit(startOf("a"))
	require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(err))
}

// goneTx is a transaction whose store was taken away.
type goneTx struct{ journal.GuestTx }

func (goneTx) Commit(context.Context, journal.Write) error {
	return errors.Join(journal.ErrUndecided, journal.ErrStoreGone, abi.Errorf(abi.CodeStoreGone, "the file is gone"))
}

// TestStoreIsGone: a host whose store was taken away ends, and says why.
func TestStoreIsGone(t *testing.T) {
	t.Parallel()
	w, state := newTestWriter(t, memory.New())
	require.ErrorIs(t, w.CommitTx(t.Context(), goneTx{}, startOf("a")), journal.ErrStoreGone)
	require.Equal(t, abi.CodeStoreGone, abi.CodeOf(state.Lost()))
	require.True(t, state.Over())
}
