package sqlite_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// A statement can roll the transaction back by itself; later statements must not commit on their
// own.
func TestHostileRollbackInsideStatement(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	w := b.start(t, "k")
	w.Entries = []journal.Entry{{Seq: 1, Kind: journal.Delivery}}
	tx := b.begin(t)
	_, err := tx.Exec(b.ctx, "INSERT OR ROLLBACK INTO accounts (id, owner) VALUES (1, 'eve')", nil)
	require.Equal(t, abi.CodeSQL, abi.CodeOf(err))
	_, err = tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (2, 'eve')", nil)
	require.Equal(t, abi.CodeSQL, abi.CodeOf(err))
	require.Error(t, tx.Commit(b.ctx, w))

	tx = b.begin(t)
	_, rows, err := tx.Query(b.ctx, "SELECT owner FROM accounts", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{"ada"}}, rows)
	entries, _, err := b.store.Entries(b.ctx, journal.KeyOf(w.ID, w.Run), 0, journal.PageLimit{Entries: 10})
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestEndlessStatementHitsTheLimit(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	b := newGuestBundle(t, sqlite.Config{Clock: clock, GuestTxLimit: time.Second})
	w := b.start(t, "k")
	for _, query := range []string{
		endless, "INSERT INTO accounts (owner) " + strings.Replace(endless, "count(*)", "i", 1),
	} {
		tx := b.begin(t)
		answer := make(chan error, 1)
		go func() {
			_, err := tx.Exec(b.ctx, query, nil)
			answer <- err
		}()
		clock.Advance(time.Second)
		err := <-answer
		require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err), "%v", err)
		_, err = tx.Exec(b.ctx, "SELECT 1", nil)
		require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err))
		require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(tx.Commit(b.ctx, w)))
		require.NoError(t, tx.Rollback(b.ctx))
	}
	tx := b.begin(t)
	_, rows, err := tx.Query(b.ctx, "SELECT count(*) FROM accounts", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1)}}, rows)
}

func TestIdleTransactionHitsTheLimit(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	b := newGuestBundle(t, sqlite.Config{Clock: clock, GuestTxLimit: time.Second})
	idle := b.begin(t)
	clock.Advance(time.Second)
	b.begin(t) // gets the writer only because the first was rolled back
	_, err := idle.Exec(b.ctx, "SELECT 1", nil)
	require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err))
}

func TestCancelledStatement(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxLimit: time.Hour})
	tx := b.begin(t)
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Millisecond)
	defer cancel()
	_, err := tx.Exec(ctx, endless, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, tx.Rollback(b.ctx))
	b.begin(t)
}
