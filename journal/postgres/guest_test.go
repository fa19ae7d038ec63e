package postgres_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

func TestGuestTypes(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", "CREATE TYPE mood AS ENUM ('calm', 'wild')")
	tx := b.begin(t, "default")
	at := time.Date(2031, 2, 3, 4, 5, 6, 789_012_000, time.UTC)
	const id = "6b1f3c1e-7a51-4a55-9c0e-3d1d5b8f2a10"
	for _, c := range []struct {
		sql  string
		arg  any
		want any
	}{
		{"text", "ünïcode", "ünïcode"},
		{"varchar(10)", "abc", "abc"},
		{"text", []byte("bytes"), "bytes"},
		{"int2", int64(math.MaxInt16), int64(math.MaxInt16)},
		{"int4", int64(-5), int64(-5)},
		{"int8", int64(math.MinInt64), int64(math.MinInt64)},
		{"int4", uint64(7), int64(7)},
		{"int8", 3.0, int64(3)},
		{"int4", "42", int64(42)},
		{"float4", 1.5, 1.5},
		{"float8", 0.1, 0.1},
		{"float8", int64(2), 2.0},
		{"float8", math.Inf(1), math.Inf(1)},
		{"numeric", "12345678901234567890.123", "12345678901234567890.123"},
		{"numeric", int64(5), "5"},
		{"numeric(10,2)", 1.5, "1.50"},
		{"numeric", uint64(math.MaxUint64), "18446744073709551615"},
		{"bool", true, true},
		{"bool", false, false},
		{"bytea", []byte{0, 1, 0xff}, []byte{0, 1, 0xff}},
		{"bytea", []byte{}, []byte{}},
		{"bytea", `\x41`, []byte(`\x41`)},
		{"timestamptz", at, at},
		{"timestamptz", "2031-02-03T04:05:06.789012Z", at},
		{"timestamp", at, at},
		{"date", at, at.Truncate(24 * time.Hour)},
		{"date", "2031-02-03", at.Truncate(24 * time.Hour)},
		{"timestamptz", "infinity", "infinity"},
		{"time", at, "04:05:06.789012"},
		{"interval", "90 minutes", "PT1H30M"},
		{"uuid", id, id},
		{"json", `{"a": 1}`, `{"a": 1}`},
		{"jsonb", `{"a":1}`, `{"a": 1}`},
		{"jsonb", int64(5), "5"},
		{"jsonb", true, "true"},
		{"int8[]", "{1,2}", "{1,2}"},
		{"mood", "wild", "wild"},
		{"text", nil, nil},
		{"int4", nil, nil},
		{"uuid", nil, nil},
		{"bytea", nil, nil},
	} {
		for range 2 { // the second time the types of the parameters are known
			_, rows, err := tx.Query(t.Context(), "SELECT $1::"+c.sql+" AS v", []any{c.arg})
			require.NoError(t, err, "%s: %v", c.sql, c.arg)
			require.Equal(t, [][]any{{c.want}}, rows, "%s: %v", c.sql, c.arg)
		}
	}
}

func TestGuestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", "CREATE TABLE t (id TEXT PRIMARY KEY, n INT, u UUID, at TIMESTAMPTZ, y BYTEA)")
	tx := b.begin(t, "default")
	for _, c := range []struct {
		code  abi.Code
		query string
		arg   any
	}{
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE id = $1", int64(5)},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE n = $1", true},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE n = $1", 1.5},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE n = $1", int64(1) << 40},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE n = $1", time.Now()},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE id = $1", "zero\x00byte"},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE id = $1", "\xff"},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE u = $1", []byte("short")},
		{abi.CodeSQLArgument, "SELECT n FROM t WHERE at = $1", time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{abi.CodeSQL, "SELECT n FROM t WHERE n = $1", "not a number"},
		{abi.CodeSQL, "SELECT n FROM t WHERE u = $1", "not a uuid"},
		{abi.CodeSQL, "SELECT n FROM t WHERE at = $1", "not a time"},
	} {
		for range 2 {
			_, _, err := tx.Query(t.Context(), c.query, []any{c.arg})
			require.Equal(t, c.code, abi.CodeOf(err), "%s, %v: %v", c.query, c.arg, err)
		}
	}
	n, err := tx.Exec(t.Context(), "INSERT INTO t (id, n) VALUES ($1, $2)", []any{"a", int64(1)})
	require.NoError(t, err, "the transaction is still of use")
	require.EqualValues(t, 1, n)
}

// An argument that does not fit undoes nothing that went before it, whether or not the statement is known already.
func TestBadArgumentUndoesNothingElse(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	tx := b.begin(t, "default")
	const query = "UPDATE accounts SET balance = balance + $1 WHERE id = 1"
	for i := range 3 {
		_, err := tx.Exec(t.Context(), query, []any{int64(1)})
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), query, []any{true})
		require.Equal(t, abi.CodeSQLArgument, abi.CodeOf(err), "%v", err)
		_, _, err = tx.Query(
			t.Context(), "UPDATE accounts SET balance = 0 FROM generate_series(1, 1) RETURNING repeat('x', 3000000)",
			nil,
		)
		require.Equal(t, abi.CodeSQLResult, abi.CodeOf(err), "%v", err)
		_, rows, err := tx.Query(t.Context(), "SELECT balance FROM accounts WHERE id = 1", nil)
		require.NoError(t, err)
		require.Equal(t, [][]any{{int64(101 + i)}}, rows, "what was refused is undone, and nothing else")
	}
	require.NoError(t, tx.Commit(t.Context(), b.entry(1)))
}

// A statement that fails can be caught, as on SQLite.
func TestFailedStatementCanBeCaught(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "UPDATE accounts SET balance = 1 WHERE id = 1", nil)
	require.NoError(t, err)
	for range 3 {
		_, err = tx.Exec(t.Context(), "INSERT INTO accounts VALUES (2, 5)", nil)
		require.Equal(t, abi.CodeSQL, abi.CodeOf(err))
		require.ErrorContains(t, err, "23505")
	}
	_, err = tx.Exec(t.Context(), "INSERT INTO accounts VALUES (3, 5)", nil)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context(), b.entry(1)))
	_, rows, err := b.begin(t, "default").Query(t.Context(), "SELECT id, balance FROM accounts ORDER BY id", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1), int64(1)}, {int64(2), int64(100)}, {int64(3), int64(5)}}, rows)
}

func TestDeferredConstraintIsTheGuestsError(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(
		t, "default",
		`CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (a INT REFERENCES a DEFERRABLE INITIALLY DEFERRED)`,
	)
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "INSERT INTO b VALUES (1)", nil)
	require.NoError(t, err)
	err = tx.Commit(t.Context(), b.entry(1))
	require.Equal(t, abi.CodeSQL, abi.CodeOf(err), "%v", err)
	require.Zero(t, b.entries(t))
	require.Zero(t, b.count(t, "default", "b"))
}

// Two activities that read, compute and write back never lose an update: one of them is told to try again.
func TestConcurrentGuestsLoseNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	const workers, rounds = 4, 5
	var group errgroup.Group
	for worker := range workers {
		group.Go(func() error {
			for round := range rounds {
				seq := uint64(worker*rounds + round + 1)
				for {
					err := addOne(t, b, seq)
					if err == nil {
						break
					}
					if !isConflict(err) {
						return err
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	_, rows, err := b.begin(t, "default").Query(t.Context(), "SELECT balance FROM accounts WHERE id = 1", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(100 + workers*rounds)}}, rows)
	require.Equal(t, workers*rounds, b.entries(t))
}

func addOne(t *testing.T, b *testBundle, seq uint64) error {
	tx, err := b.store.BeginGuest(t.Context(), "default")
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, rows, err := tx.Query(t.Context(), "SELECT balance FROM accounts WHERE id = $1", []any{int64(1)})
	if err != nil {
		return err
	}
	if _, err := tx.Exec(t.Context(), "UPDATE accounts SET balance = $2 WHERE id = $1", []any{
		int64(1), rows[0][0].(int64) + 1,
	}); err != nil {
		if isConflict(err) {
			_, again := tx.Exec(t.Context(), "SELECT 1", nil)
			require.ErrorIs(t, again, journal.ErrConflict, "from then on")
		}
		return err
	}
	return tx.Commit(t.Context(), b.entry(seq))
}

// A guest's transaction may write the row of its execution, as long as no other has since its first statement; then it
// leaves nothing. An entry alone is no such write.
func TestGuestWritesTheRowOfItsExecution(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changed, updates bool
		err              error
	}{
		"as it was":       {updates: true},
		"changed since":   {changed: true, updates: true, err: journal.ErrConflict},
		"the entry alone": {changed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, postgres.Config{})
			b.deploy(t, "default", "CREATE TABLE t (a BIGINT)")
			saved := b.write()
			saved.Hibernate = &journal.Hibernated{Seq: 1, Body: []byte("state")}
			b.commit(t, saved)
			tx := b.begin(t, "default")
			_, err := tx.Exec(t.Context(), "INSERT INTO t VALUES ($1)", []any{int64(1)})
			require.NoError(t, err)
			if c.changed {
				w := b.write()
				w.Update = &journal.Update{
					State: journal.Running, WakeAt: journal.Now, Interrupt: &journal.Interrupt{At: 1},
				}
				b.commit(t, w)
			}
			w := b.entry(1)
			if c.updates {
				w.Update = &journal.Update{
					State: journal.Completed, WakeAt: journal.Never, Value: abi.Nil, FinishedAt: 1,
				}
			}
			require.ErrorIs(t, tx.Commit(t.Context(), w), c.err)
			row, err := b.store.Load(t.Context(), b.id)
			require.NoError(t, err)
			committed := map[bool]int{true: 1}[c.err == nil]
			require.Equal(t, c.updates && c.err == nil, row.State.Final())
			require.Equal(t, committed, b.entries(t))
			require.Equal(t, committed, b.count(t, "default", "t"))
		})
	}
}

// The fence of a guest's commit holds although its snapshot is older than the claim.
func TestClaimDuringAGuestTransactionFencesIt(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "UPDATE accounts SET balance = 0 WHERE id = 1", nil)
	require.NoError(t, err)
	zombie := b.entry(1)
	_, err = b.store.ClaimShards(t.Context(), "another host")
	require.NoError(t, err, "an open transaction of a guest does not hold up a claim")
	err = tx.Commit(t.Context(), zombie)
	require.ErrorIs(t, err, journal.ErrConflict, "the snapshot is older than the claim")

	again := b.begin(t, "default")
	_, err = again.Exec(t.Context(), "UPDATE accounts SET balance = 0 WHERE id = 1", nil)
	require.NoError(t, err)
	require.ErrorIs(t, again.Commit(t.Context(), zombie), journal.ErrFenced)
	require.Zero(t, b.entries(t))
	_, rows, err := b.begin(t, "default").Query(t.Context(), "SELECT balance FROM accounts WHERE id = 1", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(100)}}, rows)
}

// The cached types of a statement's parameters do not outlive a migration, not even one of another
// host.
func TestMigrationChangesParameters(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", "CREATE TABLE t (a INT)")
	insert := func(arg any) error {
		tx := b.begin(t, "default")
		defer func() { _ = tx.Rollback(t.Context()) }()
		_, err := tx.Exec(t.Context(), "INSERT INTO t (a) VALUES ($1)", []any{arg})
		return err
	}
	require.NoError(t, insert(int64(1)))
	other := open(t, postgres.Config{Schema: b.schema})
	d := journal.Deployment{Namespace: "default", Name: "bank", Digest: "sha256:02"}
	_, err := other.Deploy(t.Context(), b.fences[d.Shard()], journal.Module{Digest: "sha256:02"}, d, []abi.Migration{
		{Version: 1, Name: "tables", SQL: "CREATE TABLE t (a INT)"},
		{Version: 2, Name: "wider", SQL: "ALTER TABLE t ALTER COLUMN a TYPE UUID USING NULL"},
	})
	require.NoError(t, err)
	const id = "6b1f3c1e-7a51-4a55-9c0e-3d1d5b8f2a10"
	require.Error(t, insert(id), "the first one still has the old types, and is tried again")
	require.NoError(t, insert(id))
}
