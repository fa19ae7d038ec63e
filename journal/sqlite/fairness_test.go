package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestJournalPreemptsIdleTransaction(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxGrace: time.Millisecond, GuestTxLimit: time.Hour})
	tx := b.begin(t)
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (2, 'bob')", nil)
	require.NoError(t, err)
	w := b.start(t, "the journal goes on")
	_, err = tx.Exec(b.ctx, "SELECT 1", nil)
	require.ErrorIs(t, err, journal.ErrPreempted)
	w.Entries = []journal.Entry{{Seq: 1, Kind: journal.Delivery}}
	require.ErrorIs(t, tx.Commit(b.ctx, w), journal.ErrConflict)
	require.NoError(t, tx.Rollback(b.ctx))

	tx = b.begin(t)
	_, rows, err := tx.Query(b.ctx, "SELECT count(*) FROM accounts", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1)}}, rows)
	require.NoError(t, tx.Commit(b.ctx, w), "the same work can be done again")
}

func TestJournalPreemptsRunningStatement(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxGrace: time.Millisecond, GuestTxLimit: time.Hour})
	tx := b.begin(t)
	answer := make(chan error, 1)
	go func() {
		_, err := tx.Exec(b.ctx, endless, nil)
		answer <- err
	}()
	b.start(t, "the journal goes on")
	require.ErrorIs(t, <-answer, journal.ErrConflict)
}

func TestShortTransactionIsNotPreempted(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxGrace: time.Hour, GuestTxLimit: time.Hour})
	w := b.start(t, "k")
	tx := b.begin(t)
	committed, second := make(chan error, 1), w
	second.Entries = []journal.Entry{{Seq: 2, Kind: journal.Delivery}}
	go func() {
		_, err := b.store.Commit(b.ctx, []journal.Write{second})
		committed <- err
	}()
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (2, 'bob')", nil)
	require.NoError(t, err)
	w.Entries = []journal.Entry{{Seq: 1, Kind: journal.Delivery}}
	require.NoError(t, tx.Commit(b.ctx, w))
	require.NoError(t, <-committed)
}

// TestGuestsAndJournalShareTheWriter runs both at full speed and wants each to get all its work done.
func TestGuestsAndJournalShareTheWriter(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxGrace: 5 * time.Millisecond})
	committer := journal.NewCommitter(b.store, journal.CommitterOptions{})
	defer committer.Stop()
	before := b.store.Commits()
	var journalCommits, guestCommits atomic.Int64
	var group errgroup.Group
	for lane := range 4 {
		write := b.start(t, fmt.Sprint("lane ", lane))
		group.Go(func() error {
			for seq := uint64(1); seq <= 40; seq++ {
				w := write
				w.Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery}}
				if _, err := committer.Commit(b.ctx, w); err != nil {
					return err
				}
				journalCommits.Add(1)
			}
			return nil
		})
		group.Go(func() error {
			for seq := uint64(100); seq < 120; {
				w := write
				w.Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery}}
				err := transfer(b.ctx, b.store, w)
				if errors.Is(err, journal.ErrConflict) {
					continue
				}
				if err != nil {
					return err
				}
				guestCommits.Add(1)
				seq++
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 160, journalCommits.Load())
	require.EqualValues(t, 80, guestCommits.Load())
	require.LessOrEqual(
		t, b.store.Commits()-before, uint64(4+160+80), "both sorts are counted, and the journal's are shared",
	)
	require.GreaterOrEqual(t, b.store.Commits()-before, uint64(4+40+80))
	tx := b.begin(t)
	_, rows, err := tx.Query(b.ctx, "SELECT balance FROM accounts WHERE id = 1", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(80)}}, rows, "each exactly once")
}

func transfer(ctx context.Context, store journal.Store, w journal.Write) error {
	tx, err := store.BeginGuest(ctx, "mine")
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, "UPDATE accounts SET balance = balance + $1 WHERE id = $2", []any{
		int64(1), int64(1),
	}); err != nil {
		return err
	}
	return tx.Commit(ctx, w)
}
