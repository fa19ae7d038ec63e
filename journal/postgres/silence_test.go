package postgres_test

import (
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// patience is far longer than any limit of a store in these tests.
const patience = 10 * time.Minute

// ends fails the test if the call does not end.
func ends(t *testing.T, call func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		require.FailNow(t, "the call hangs on a connection that went silent")
		return nil
	}
}

// silentCalls are the calls of a store on connections that are open and silent.
var silentCalls = map[string]struct {
	call func(t *testing.T, b *testBundle) error
	want error
}{
	"commit": {func(t *testing.T, b *testBundle) error {
		_, err := b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
		return err
	}, journal.ErrUndecided},
	"read": {func(t *testing.T, b *testBundle) error {
		_, _, err := b.store.Entries(t.Context(), b.run(), 0, journal.PageLimit{Entries: 10})
		return err
	}, nil},
	"claim": {func(t *testing.T, b *testBundle) error {
		_, err := b.store.ClaimShards(t.Context(), "test")
		return err
	}, nil},
	"ping": {func(t *testing.T, b *testBundle) error { return b.store.Ping(t.Context()) }, nil},
	"sweep": {func(t *testing.T, b *testBundle) error {
		_, err := b.store.Sweep(t.Context(), b.fences, 1, 1)
		return err
	}, nil},
	"deploy": {func(t *testing.T, b *testBundle) error {
		_, err := b.push(t.Context(), journal.Deployment{Namespace: "default", Name: "b", Digest: "sha256:02"}, nil)
		return err
	}, nil},
	"begin": {func(t *testing.T, b *testBundle) error {
		_, err := b.store.BeginGuest(t.Context(), "other")
		return err
	}, nil},
}

// answerLimit is how long these tests wait for the server. A server that is not silent answers
// sooner, also on a machine that has much else to do.
const answerLimit = 5 * time.Second

// A connection that is open on this side only answers nothing, and no packet says that it is dead. Every call ends
// nevertheless, and the next one finds a connection that works.
func TestEveryCallEndsOnASilentConnection(t *testing.T) {
	t.Parallel()
	for name, c := range silentCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProxy(t)
			b := setup(t, postgres.Config{DSN: p.dsn, CallLimit: answerLimit})
			b.deploy(t, "default", "CREATE TABLE t (a BIGINT)")
			require.Zero(t, b.entries(t), "all pools have a connection")
			p.silence(false)
			// A connection that has been idle for a while is tested before it is used: then even the first call
			// succeeds.
			err := ends(t, func() error { return c.call(t, b) })
			if err != nil && c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			if err != nil {
				err = ends(t, func() error { return c.call(t, b) })
			}
			require.NoError(t, err, "one call at most meets the silence")
		})
	}
}

func TestASilentGuestTransactionEnds(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	clock := clockwork.NewFakeClock()
	b := setup(t, postgres.Config{DSN: p.dsn, Clock: clock, CallLimit: answerLimit, GuestTxLimit: time.Minute})
	b.deploy(t, "default", "CREATE TABLE t (a BIGINT)")

	statement, commit, rollback := b.begin(t, "default"), b.begin(t, "default"), b.begin(t, "default")
	for _, tx := range []journal.GuestTx{statement, commit, rollback} {
		_, err := tx.Exec(t.Context(), "INSERT INTO t VALUES ($1)", []any{int64(1)})
		require.NoError(t, err)
	}
	p.silence(false)
	err := ends(t, func() error { return commit.Commit(t.Context(), b.entry(1)) })
	require.ErrorIs(t, err, journal.ErrUndecided)
	require.NoError(t, ends(t, func() error { return rollback.Rollback(t.Context()) }))
	err = ends(t, func() error {
		go func() {
			// Three timers: the limit of the transaction, the limit of the statement, and the query for the state of
			// the server.
			if clock.BlockUntilContext(t.Context(), 3) == nil {
				clock.Advance(time.Minute + answerLimit)
			}
		}()
		_, err := statement.Exec(t.Context(), "INSERT INTO t VALUES ($1)", []any{int64(1)})
		return err
	})
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "the activity took no time: %v", err)

	again := b.begin(t, "default")
	_, err = again.Exec(t.Context(), "INSERT INTO t VALUES ($1)", []any{int64(2)})
	require.NoError(t, err)
	require.NoError(t, again.Commit(t.Context(), b.entry(2)))
	require.Equal(t, 1, b.count(t, "default", "t"))
	require.Equal(t, 1, b.entries(t), "what was lost stays lost")
}

// While the server cannot be reached every call fails, many at a time no slower than one; afterwards the store works
// again, and the lost commit was not made.
func TestSilenceOfTheServer(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	// By this clock no connection is idle for long: none is tested before it is used.
	clock := clockwork.NewFakeClock()
	b := setup(t, postgres.Config{DSN: p.dsn, Clock: clock, CallLimit: answerLimit})
	require.Zero(t, b.entries(t))
	p.silence(true)
	_, err := b.store.Commit(t.Context(), []journal.Write{b.entry(1)})
	require.ErrorIs(t, err, journal.ErrUndecided)

	_, err = b.store.Commit(t.Context(), []journal.Write{b.entry(2)})
	require.ErrorIs(t, err, journal.ErrUnavailable, "nothing was sent")

	const readers = 400
	failed := make(chan error, readers)
	for range readers {
		go func() {
			_, _, err := b.store.Entries(t.Context(), b.run(), 0, journal.PageLimit{Entries: 10})
			failed <- err
		}()
	}
	require.NoError(t, ends(t, func() error {
		for range readers {
			if err := <-failed; err == nil {
				t.Error("a read of a server that cannot be reached succeeded")
			}
		}
		return nil
	}))
	p.listen()
	clock.Advance(time.Minute) // now all are
	require.Eventually(t, func() bool { return b.store.Ping(t.Context()) == nil }, patience, 10*time.Millisecond)
	require.Zero(t, b.entries(t))
	require.Equal(t, journal.Result{}, b.commit(t, b.entry(1)))
}

// A connection that cannot be made in time is the store's failure, not an expired deadline, which
// clients would take for their own.
func TestAConnectionThatTakesTooLongIsNoDeadlineOfTheCaller(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	b := setup(t, postgres.Config{DSN: p.dsn, CallLimit: answerLimit})
	p.silence(true)
	for range 5 { // until no connection is left
		_, err := b.store.Load(t.Context(), b.id)
		require.Equal(t, abi.CodeStore, abi.CodeOf(journal.Coded("load", err)), "%v", err)
	}
}

func TestOpenEndsIfTheServerIsSilent(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	p.silence(true)
	err := ends(t, func() error {
		_, err := postgres.Open(t.Context(), postgres.Config{DSN: p.dsn, CallLimit: 100 * time.Millisecond})
		return err
	})
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
}

// A host whose machine is gone cancels nothing. Its statement ends all the same, and with it its
// locks.
func TestAnAbandonedStatementEnds(t *testing.T) {
	t.Parallel()
	p := newProxy(t)
	b := setup(t, postgres.Config{DSN: p.dsn})
	marked := "SELECT count(*) FROM generate_series(1, 1000000000000) AS " + b.schema
	ended := make(chan error, 1)
	go func() {
		_, err := b.push(t.Context(), journal.Deployment{Namespace: "default", Name: "slow", Digest: "sha256:03"},
			[]abi.Migration{{Version: 1, Name: "slow", SQL: marked}})
		ended <- err
	}()
	active := func(want int) func() bool {
		return func() bool {
			var n int
			err := b.admin.QueryRow(
				t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND starts_with(query, $1)`,
				marked,
			).Scan(&n)
			return err == nil && n == want
		}
	}
	require.Eventually(t, active(1), patience, 10*time.Millisecond)
	p.silence(true) // no request to cancel gets through either
	p.close()
	require.Error(t, <-ended)
	require.Eventually(t, active(0), patience, 10*time.Millisecond)
}
