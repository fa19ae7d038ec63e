package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// Statements that the lexer lets through and the database's rights must stop, and some that both do. SCHEMA stands for
// Cruster's schema, whose name the lexer does not know here.
var escapes = []string{
	"SELECT * FROM SCHEMA.executions",
	"SELECT * FROM SCHEMA . shards",
	"SELECT * FROM \"SCHEMA\".\"entries\"",
	"INSERT INTO SCHEMA.shards (shard, epoch, owner, claimed_at) VALUES (999, 1, 'x', now())",
	"UPDATE SCHEMA.shards SET epoch = 99",
	"DELETE FROM SCHEMA.entries",
	"WITH x AS (DELETE FROM SCHEMA.executions RETURNING 1) SELECT count(*) FROM x",
	"INSERT INTO accounts SELECT shard, epoch FROM SCHEMA.shards",
	"SELECT SCHEMA.expect(1, 1, 'CR001')",
	"SELECT value FROM SCHEMA.inbox",
	"DELETE FROM SCHEMA.inbox",
	"SELECT nextval('SCHEMA.inbox_position_seq')",
	"SELECT value FROM SCHEMA.receipts",
	"DELETE FROM SCHEMA.receipts",
	"SELECT state FROM SCHEMA.entities",
	"UPDATE SCHEMA.entities SET state = NULL",
	"SELECT * FROM SCHEMA.locks",
	"DELETE FROM SCHEMA.locks",
	"SELECT body FROM SCHEMA.published",
	"UPDATE SCHEMA.attributes SET text = 'eve'",
	"SELECT * FROM SCHEMA.attributes",
	"INSERT INTO SCHEMA.retired (shard, run, id, holds) VALUES (0, '', '', false)",
	"DELETE FROM SCHEMA.retired",
	"SELECT * FROM SCHEMA__other.secrets",
	"INSERT INTO SCHEMA__other.secrets VALUES ('mine')",
	"UPDATE accounts SET balance = (SELECT count(*) FROM SCHEMA__other.secrets)",
	"SELECT 'SCHEMA.executions'::regclass::oid::int, * FROM SCHEMA.executions",
	"SELECT nextval('SCHEMA__other.serial')",
	"SELECT set_config('role', 'none', true)",
	"SELECT set_config('role', 'postgres', true), query_to_xml('DELETE FROM SCHEMA.entries', true, true, '')",
	"SELECT query_to_xml('SELECT set_config(''role'',''none'',true)', true, true, '')",
	"SELECT ts_stat('SELECT set_config(''role'',''none'',true)::tsvector')",
	"SELECT U&\"set\\005fconfig\"('role', 'none', true)",
	"RESET ROLE",
	"SET ROLE NONE",
	"SET SESSION AUTHORIZATION DEFAULT",
	"COMMIT",
	"ROLLBACK TO SAVEPOINT cruster_statement",
	"RELEASE SAVEPOINT cruster_statement",
	"SELECT 1; COMMIT",
	"DO $$BEGIN EXECUTE 'RESET ROLE'; END$$",
	"EXECUTE cruster_commit",
	"DEALLOCATE ALL",
	"PREPARE x AS SELECT 1",
	"LISTEN x",
	"COPY accounts TO PROGRAM 'true'",
	"CREATE TEMP TABLE executions (a int)",
	"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	"SELECT pg_advisory_lock(1)",
	"SELECT lo_creat(-1)",
	"SELECT * FROM pg_authid",
}

func TestGuestCannotEscape(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	b.deploy(t, "other", "CREATE TABLE secrets (s TEXT); INSERT INTO secrets VALUES ('theirs'); CREATE SEQUENCE serial")
	require.Equal(t, journal.Result{}, b.commit(t, b.entry(1)))
	before, err := b.store.Load(t.Context(), b.id)
	require.NoError(t, err)

	tx := b.begin(t, "default")
	for _, query := range escapes {
		query = replaceSchema(query, b.schema)
		_, _, err := tx.Query(t.Context(), query, nil)
		require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), "%s: %v", query, err)
		// The transaction goes on as the guest's: a failed attempt costs itself.
		_, rows, err := tx.Query(t.Context(), "SELECT current_user", nil)
		require.NoError(t, err, query)
		require.Equal(t, [][]any{{b.schema + "__default"}}, rows, query)
	}
	_, err = tx.Exec(t.Context(), "UPDATE accounts SET balance = 7 WHERE id = 1", nil)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context(), b.entry(2)))

	after, err := b.store.Load(t.Context(), b.id)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Equal(t, 2, b.entries(t))
	require.Equal(t, 1, b.count(t, "other", "secrets"))
	fences, err := b.store.ClaimShards(t.Context(), "next")
	require.NoError(t, err)
	require.Equal(t, b.fences[0].Epoch+1, fences[0].Epoch)
	require.Len(t, fences, journal.NumShards)
}

func TestHostileMigrationsLeaveNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "other", "CREATE TABLE secrets (s TEXT); INSERT INTO secrets VALUES ('theirs')")
	for _, sql := range []string{
		"CREATE TABLE SCHEMA.mine (a int)",
		"CREATE TABLE SCHEMA__other.mine (a int)",
		"CREATE TABLE copied AS SELECT * FROM SCHEMA.executions",
		"CREATE TABLE a (id int); CREATE VIEW spy AS SELECT * FROM SCHEMA__other.secrets; SELECT * FROM spy",
		"ALTER TABLE SCHEMA.entries ADD COLUMN x int",
		"DROP TABLE SCHEMA__other.secrets",
		"INSERT INTO SCHEMA__other.secrets VALUES ('mine')",
		"CREATE TABLE a (id int); ALTER TABLE a OWNER TO postgres",
		"CREATE TABLE a (id int); ALTER TABLE a SET schema SCHEMA__other",
		"CREATE TABLE a (id int REFERENCES SCHEMA.shards)",
		"CREATE TABLE a (id int); SET ROLE NONE; DROP TABLE SCHEMA.entries",
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	} {
		sql = replaceSchema(sql, b.schema)
		_, err := b.push(
			t.Context(), journal.Deployment{Namespace: "default", Name: "evil", Digest: "sha256:02"},
			[]abi.Migration{{Version: 1, Name: "evil", SQL: sql}},
		)
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%s: %v", sql, err)
		_, err = b.store.Module(t.Context(), "sha256:02")
		require.ErrorIs(t, err, journal.ErrNotFound, sql)
	}
	require.Equal(t, 1, b.count(t, "other", "secrets"))
	require.Equal(t, journal.Result{}, b.commit(t, b.entry(1)))
}

func TestIdleGuestTransactionHasALimit(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	b := setup(t, postgres.Config{Clock: clock, GuestTxLimit: time.Minute, MaxGuestConns: 1})
	b.deploy(t, "default", accounts)
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "UPDATE accounts SET balance = 0", nil)
	require.NoError(t, err)
	clock.Advance(time.Minute)
	requireRolledBack(t, b, tx)
}

// The server ends a statement that runs for too long, even if the host does not.
func TestBusyGuestTransactionHasALimit(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{Clock: clockwork.NewFakeClock(), GuestTxLimit: 3 * time.Second, MaxGuestConns: 1})
	b.deploy(t, "default", accounts)
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "UPDATE accounts SET balance = 0", nil)
	require.NoError(t, err)
	_, _, err = tx.Query(t.Context(), "SELECT count(*) FROM generate_series(1, 1000000000) AS a", nil)
	require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err), "%v", err)
	requireRolledBack(t, b, tx)
}

// requireRolledBack checks that a transaction was open for too long and that its connection, the only one, is free
// again.
func requireRolledBack(t *testing.T, b *testBundle, tx journal.GuestTx) {
	t.Helper()
	next := b.begin(t, "default")
	_, rows, err := next.Query(t.Context(), "SELECT sum(balance)::bigint FROM accounts", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(200)}}, rows)
	require.NoError(t, next.Rollback(t.Context()))

	_, err = tx.Exec(t.Context(), "SELECT 1", nil)
	require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err))
	require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(tx.Commit(t.Context(), b.entry(1))))
	require.Zero(t, b.entries(t))
}

// Guests that hold all their connections do not keep the journal waiting.
func TestGuestsCannotExhaustTheJournal(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{MaxConns: 1, MaxGuestConns: 2})
	b.deploy(t, "default", accounts)
	for range 2 {
		_, err := b.begin(t, "default").Exec(t.Context(), "SELECT 1", nil)
		require.NoError(t, err)
	}
	for seq := range uint64(20) {
		require.Equal(t, journal.Result{}, b.commit(t, b.entry(seq+1)))
	}
}

// Migrations that take long, many of them at a time, do not keep the journal waiting either.
func TestSlowMigrationsCannotExhaustTheJournal(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{MaxConns: 1, MaxGuestConns: 2})
	ctx, cancel := context.WithCancel(t.Context())
	var pushes sync.WaitGroup
	for i := range 4 {
		pushes.Go(func() {
			d := journal.Deployment{Namespace: "default", Name: fmt.Sprint("slow", i), Digest: "sha256:03"}
			_, err := b.push(ctx, d, []abi.Migration{{
				Version: 1, Name: "slow", SQL: "SELECT count(*) FROM generate_series(1, 1000000000000) AS a",
			}})
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	require.Eventually(t, func() bool {
		var active int
		err := b.admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE state = 'active' AND query LIKE 'SELECT count(*) FROM generate_series(1, 1000000000000)%'`).Scan(
			&active,
		)
		return err == nil && active > 0
	}, time.Minute, 10*time.Millisecond)
	for seq := range uint64(20) {
		require.Equal(t, journal.Result{}, b.commit(t, b.entry(seq+1)))
	}
	_, err := b.begin(t, "default").Exec(t.Context(), "SELECT 1", nil)
	require.NoError(t, err, "activities go on too")
	cancel()
	pushes.Wait()
}

// The last layer: a statement that left its role, here through a function that an administrator made, is undone and
// returns nothing.
func TestLeavingTheRoleIsUndone(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	_, err := b.admin.Exec(
		t.Context(),
		replaceSchema(`CREATE FUNCTION SCHEMA__default.leave() RETURNS text LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM set_config('role', 'none', true);
			EXECUTE 'DELETE FROM SCHEMA.executions';
			RETURN (SELECT string_agg(owner, ',') FROM SCHEMA.shards);
		END $$`, b.schema),
	)
	require.NoError(t, err)
	tx := b.begin(t, "default")
	_, err = tx.Exec(t.Context(), "UPDATE accounts SET balance = 0", nil)
	require.NoError(t, err)
	_, rows, err := tx.Query(t.Context(), "SELECT leave()", nil)
	require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), "%v", err)
	require.Nil(t, rows)
	_, err = tx.Exec(t.Context(), "SELECT 1", nil)
	require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), "the transaction is over")
	require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(tx.Commit(t.Context(), b.entry(1))))

	_, err = b.store.Load(t.Context(), b.id)
	require.NoError(t, err)
	_, rows, err = b.begin(t, "default").Query(
		t.Context(), "SELECT sum(balance)::bigint, current_user FROM accounts", nil,
	)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(200), b.schema + "__default"}}, rows)
}

// A single value can be wider than anything the host wants to hold.
func TestWideRowDoesNotReachTheHost(t *testing.T) {
	t.Parallel()
	// The results are too large by construction, and the time is no part of it.
	b := setup(t, postgres.Config{MaxGuestConns: 1, GuestTxLimit: time.Hour})
	for _, query := range []string{
		fmt.Sprintf("SELECT repeat('x', %d)", 8*abi.MaxBody),
		fmt.Sprintf("SELECT repeat('x', 1000) FROM generate_series(1, %d)", 2*abi.MaxBody/1000),
		fmt.Sprintf("SELECT n FROM generate_series(1, %d) AS n", abi.MaxBody/4),
	} {
		tx := b.begin(t, "default")
		_, _, err := tx.Query(t.Context(), query, nil)
		require.Equal(t, abi.CodeSQLResult, abi.CodeOf(err), "%s: %v", query, err)
		require.NoError(t, tx.Rollback(t.Context()))
	}
	_, rows, err := b.begin(t, "default").Query(t.Context(), "SELECT 1 AS one", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1)}}, rows)
}
