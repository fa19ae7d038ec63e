package storetest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var guestTests = []test{
	{"Values", needsGuest, testGuestValues},
	{"BadArguments", needsGuest, testGuestBadArguments},
	{"Statements", needsGuest, testGuestStatements},
	{"RowsAffected", needsGuest, testGuestRowsAffected},
	{"CommitIsAtomic", needsGuest, testGuestCommitAtomic},
	{"FailedWriteLeavesNothing", needsGuest, testGuestFailedWrite},
	{"RollbackLeavesNothing", needsGuest, testGuestRollback},
	{"OverIsOver", needsGuest, testGuestOverIsOver},
	{"ErrorsOfTheDatabase", needsGuest, testGuestDatabaseErrors},
	{"LargeResultIsRefused", needsGuest, testGuestLargeResult},
	{"BeginWaitsForItsContext", needsGuest, testGuestBeginContext},
	{"OpenTransactionDoesNotStarveTheJournal", needsGuest, testGuestStarvation},
}

// accountsSQL is SQL that all dialects understand.
const accountsSQL = `
	CREATE TABLE accounts (id BIGINT PRIMARY KEY, owner TEXT NOT NULL,
		balance BIGINT NOT NULL DEFAULT 0 CHECK (balance >= 0));
	CREATE TABLE samples (id BIGINT PRIMARY KEY, b BOOLEAN, i BIGINT, f DOUBLE PRECISION, s TEXT, y BYTEA,
		t TIMESTAMPTZ);`

func (b *bundle) deployTables(t testing.TB, namespace string) {
	t.Helper()
	m := newModule("sha256:accounts")
	_, err := b.deploy(m, newDeployment(
		namespace, "bank", m.Digest,
	), []abi.Migration{{Version: 1, Name: "accounts", SQL: accountsSQL}})
	require.NoError(t, err)
}

func (b *bundle) begin(t testing.TB, namespace string) journal.GuestTx {
	t.Helper()
	tx, err := b.store.BeginGuest(b.ctx, namespace)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// rows reads in a transaction of its own.
func (b *bundle) rows(t testing.TB, namespace, query string, args ...any) [][]any {
	t.Helper()
	tx := b.begin(t, namespace)
	_, rows, err := tx.Query(b.ctx, query, args)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(b.ctx))
	return rows
}

func testGuestValues(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	tx := b.begin(t, "default")
	at := time.Date(2031, 2, 3, 4, 5, 6, 789_000_000, time.FixedZone("X", 3600))
	samples := []struct {
		b, i, f, s, y, t any
	}{
		{nil, nil, nil, nil, nil, nil},
		{true, int64(math.MaxInt64), 1.5, "", []byte{}, at},
		{false, int64(math.MinInt64), -0.1, "ünïcode 🚀 ' \" ; -- $1", []byte{0, 0xff, 0}, at.UTC()},
		{true, uint64(42), math.MaxFloat64, strings.Repeat("x", 10_000), make([]byte, 10_000), at},
	}
	for i, s := range samples {
		n, err := tx.Exec(
			b.ctx, "INSERT INTO samples (id, b, i, f, s, y, t) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			[]any{int64(i), s.b, s.i, s.f, s.s, s.y, s.t},
		)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
	}
	columns, rows, err := tx.Query(b.ctx, "SELECT id, b, i, f, s, y, t FROM samples ORDER BY id", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "b", "i", "f", "s", "y", "t"}, columns)
	require.Len(t, rows, len(samples))
	for i, s := range samples {
		got := rows[i]
		require.Equal(t, int64(i), got[0])
		if s.b == nil {
			require.Equal(t, []any{nil, nil, nil, nil, nil, nil}, got[1:])
			continue
		}
		// SQLite has no booleans and no times: it keeps 1 and 0, and text.
		require.Contains(t, []any{s.b, map[any]int64{true: 1, false: 0}[s.b]}, got[1])
		if u, ok := s.i.(uint64); ok {
			s.i = int64(u)
		}
		require.Equal(t, s.i, got[2])
		require.Equal(t, s.f, got[3])
		require.Equal(t, s.s, got[4])
		require.Equal(t, s.y, got[5])
		if text, ok := got[6].(string); ok {
			parsed, err := time.Parse(time.RFC3339Nano, text)
			require.NoError(t, err)
			got[6] = parsed
		}
		require.True(t, at.Equal(got[6].(time.Time)), "%v", got[6])
	}
}

func testGuestBadArguments(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	for name, c := range map[string]struct {
		query string
		args  []any
	}{
		"too few":       {"SELECT id FROM accounts WHERE id = $1 AND owner = $2", []any{int64(1)}},
		"none":          {"SELECT id FROM accounts WHERE id = $1", nil},
		"too many":      {"SELECT id FROM accounts WHERE id = $1", []any{int64(1), int64(2)}},
		"too large":     {"SELECT id FROM accounts WHERE id = $1", []any{uint64(math.MaxUint64)}},
		"unknown type":  {"SELECT id FROM accounts WHERE id = $1", []any{struct{}{}}},
		"another int":   {"SELECT id FROM accounts WHERE id = $1", []any{int8(1)}},
		"args for none": {"SELECT id FROM accounts", []any{int64(1)}},
	} {
		tx := b.begin(t, "default")
		_, _, err := tx.Query(b.ctx, c.query, c.args)
		require.Equal(t, abi.CodeSQLArgument, abi.CodeOf(err), "%s: %v", name, err)
		require.NoError(t, tx.Rollback(b.ctx))
	}
}

func testGuestStatements(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	tx := b.begin(t, "default")
	for _, c := range []struct {
		query string
		args  []any
		want  [][]any
	}{
		{
			"INSERT INTO accounts (id, owner, balance) VALUES ($1, $2, $3), ($4, $5, $6) RETURNING id, owner",
			[]any{int64(1), "ada", int64(10), int64(2), "bob", int64(20)},
			[][]any{{int64(1), "ada"}, {int64(2), "bob"}},
		},
		{
			"INSERT INTO accounts (id, owner) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner " +
				"RETURNING owner",
			[]any{"eve"},
			[][]any{{"eve"}},
		},
		// The parameters are in the order of their numbers.
		{
			"UPDATE accounts SET balance = balance + $2 WHERE id = $1 RETURNING balance;  -- done",
			[]any{int64(2), int64(5)},
			[][]any{{int64(25)}},
		},
		{
			"WITH rich AS (SELECT id, balance FROM accounts WHERE balance > 15) SELECT count(*) FROM rich", nil,
			[][]any{{int64(1)}},
		},
		{
			"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT a.id, n.i FROM " +
				"accounts a JOIN n ON n.i = a.id ORDER BY 1",
			nil,
			[][]any{{int64(1), int64(1)}, {int64(2), int64(2)}},
		},
		{"SELECT owner FROM accounts WHERE id IN (SELECT max(id) FROM accounts)", nil, [][]any{{"bob"}}},
		{"/* a comment; */ SELECT upper(owner) AS name FROM accounts ORDER BY id LIMIT 1", nil, [][]any{{"EVE"}}},
		{"SELECT id FROM accounts WHERE owner = $1 OR owner = $1", []any{"bob"}, [][]any{{int64(2)}}},
		{"SELECT count(*) FROM accounts", nil, [][]any{{int64(2)}}},
		{"SELECT id FROM accounts UNION SELECT id FROM samples ORDER BY 1", nil, [][]any{{int64(1)}, {int64(2)}}},
		{"DELETE FROM accounts WHERE id = $1 RETURNING id", []any{int64(1)}, [][]any{{int64(1)}}},
		{"SELECT id FROM accounts WHERE FALSE", nil, nil},
		{"SELECT ';' AS semicolon", nil, [][]any{{";"}}},
	} {
		_, rows, err := tx.Query(b.ctx, c.query, c.args)
		require.NoError(t, err, c.query)
		if len(c.want) == 0 {
			require.Empty(t, rows, c.query)
			continue
		}
		require.Equal(t, c.want, rows, c.query)
	}
	columns, rows, err := tx.Query(b.ctx, "INSERT INTO accounts (id, owner) VALUES (9, 'zoe')", nil)
	require.NoError(t, err)
	require.Empty(t, columns)
	require.Empty(t, rows)
}

func testGuestRowsAffected(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	tx := b.begin(t, "default")
	for _, c := range []struct {
		query string
		want  int64
	}{
		{"INSERT INTO accounts (id, owner) VALUES (1, 'a'), (2, 'b'), (3, 'c')", 3},
		{"UPDATE accounts SET balance = 1 WHERE id > 1", 2},
		{"UPDATE accounts SET balance = 1 WHERE id > 10", 0},
		{"DELETE FROM accounts WHERE id = 3", 1},
		{"DELETE FROM accounts", 2},
	} {
		n, err := tx.Exec(b.ctx, c.query, nil)
		require.NoError(t, err, c.query)
		require.Equal(t, c.want, n, c.query)
	}
}

func testGuestCommitAtomic(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	tx := b.begin(t, "default")
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES ($1, $2)", []any{int64(1), "ada"})
	require.NoError(t, err)
	require.Empty(t, b.entries(t, id))
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	w.Update = &journal.Update{
		State: journal.Running, WakeAt: 77, Waiting: journal.Waiting{Seq: 1}, Interrupt: &journal.Interrupt{At: 1},
	}
	w.Receive = (&journal.Deferred{Name: "d"}).Message()
	require.NoError(t, tx.Commit(b.ctx, w))
	require.NoError(t, tx.Rollback(b.ctx), "harmless after Commit")
	require.Len(t, b.entries(t, id), 1)
	require.EqualValues(t, 1, b.load(t, id).Waiting.Seq)
	require.Equal(t, journal.Now, b.load(t, id).WakeAt, "a settlement has it loaded, whatever the update says")
	require.Len(t, b.rows(t, "default", "SELECT id FROM accounts"), 1)

	// The turn that an entry causes may be the last: the result is part of the transaction, and no state is kept.
	b.commit(t, b.hibernate(id, 1, []byte("state")))
	tx = b.begin(t, "default")
	_, err = tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES ($1, $2)", []any{int64(2), "bob"})
	require.NoError(t, err)
	w = b.write(id)
	w.Entries = []journal.Entry{newEntry(2)}
	w.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: []byte{1}, FinishedAt: 9}
	require.NoError(t, tx.Commit(b.ctx, w))
	row := b.load(t, id)
	require.Equal(t, journal.Completed, row.State)
	require.Equal(t, []byte{1}, row.Value)
	require.EqualValues(t, 9, row.FinishedAt)
	require.NotNil(t, row.Interrupt, "it is left as it was")
	require.Len(t, b.entries(t, id), 2)
	require.Len(t, b.rows(t, "default", "SELECT id FROM accounts"), 2)
	b.requireSaved(t, id, nil)
}

// testGuestFailedWrite: if the write of the journal fails for any reason, the rows of the module are rolled back.
func testGuestFailedWrite(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	w.Receive = (&journal.Deferred{Name: "d"}).Message()
	b.commit(t, w)
	duplicate, missing, settled, stale := b.write(id), b.write(newExecution("missing").ID), b.write(id), b.write(id)
	duplicate.Entries = []journal.Entry{newEntry(2), newEntry(1)}
	missing.Update = &journal.Update{State: journal.Failed}
	settled.Receive = (&journal.Deferred{Name: "d"}).Message()
	stale.Fence.Epoch--
	stale.Entries = []journal.Entry{newEntry(3)}
	for name, w := range map[string]journal.Write{
		"duplicate": duplicate, "missing": missing, "settled": settled, "stale": stale,
	} {
		tx := b.begin(t, "default")
		_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (1, 'ada')", nil)
		require.NoError(t, err)
		require.Error(t, tx.Commit(b.ctx, w), name)
		require.NoError(t, tx.Rollback(b.ctx))
		require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"), name)
		require.Len(t, b.entries(t, id), 1, name)
	}
}

func testGuestRollback(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	tx := b.begin(t, "default")
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (1, 'ada')", nil)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(b.ctx))
	require.NoError(t, tx.Rollback(b.ctx))
	require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"))
}

func testGuestOverIsOver(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	for name, end := range map[string]func(journal.GuestTx) error{
		"rollback": func(tx journal.GuestTx) error { return tx.Rollback(b.ctx) },
		"commit":   func(tx journal.GuestTx) error { return tx.Commit(b.ctx, b.write(id)) },
	} {
		tx := b.begin(t, "default")
		require.NoError(t, end(tx), name)
		_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (1, 'ada')", nil)
		require.Error(t, err, name)
		_, _, err = tx.Query(b.ctx, "SELECT id FROM accounts", nil)
		require.Error(t, err, name)
		w := b.write(id)
		w.Entries = []journal.Entry{newEntry(1)}
		require.Error(t, tx.Commit(b.ctx, w), name)
	}
	require.Empty(t, b.entries(t, id))
	require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"))
}

func testGuestDatabaseErrors(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	for name, query := range map[string]string{
		"syntax":      "SELECT FROM WHERE",
		"not null":    "INSERT INTO accounts (id, owner) VALUES (1, NULL)",
		"check":       "INSERT INTO accounts (id, owner, balance) VALUES (1, 'a', -1)",
		"primary key": "INSERT INTO accounts (id, owner) VALUES (1, 'a'), (1, 'b')",
		"no column":   "SELECT nothing FROM accounts",
	} {
		tx := b.begin(t, "default")
		_, err := tx.Exec(b.ctx, query, nil)
		require.Equal(t, abi.CodeSQL, abi.CodeOf(err), "%s: %v", name, err)
		require.NoError(t, tx.Rollback(b.ctx))
	}
}

func testGuestLargeResult(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	tx := b.begin(t, "default")
	for i := range 5 {
		_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES ($1, $2)", []any{
			int64(i), strings.Repeat("x", 1<<20),
		})
		require.NoError(t, err)
	}
	_, rows, err := tx.Query(b.ctx, "SELECT owner FROM accounts WHERE id < 3", nil)
	require.NoError(t, err)
	require.Len(t, rows, 3)
	_, _, err = tx.Query(b.ctx, "SELECT owner FROM accounts", nil)
	require.Equal(t, abi.CodeSQLResult, abi.CodeOf(err), "%v", err)
}

func testGuestBeginContext(t *testing.T, b *bundle) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err := b.store.BeginGuest(ctx, "default")
	require.ErrorIs(t, err, context.Canceled)
}

// testGuestStarvation leaves a transaction open and requires that the journal still commits. The transaction then
// commits, or fails with a conflict.
func testGuestStarvation(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	tx := b.begin(t, "default")
	_, err := tx.Exec(b.ctx, "INSERT INTO accounts (id, owner) VALUES (1, 'ada')", nil)
	require.NoError(t, err)
	for i := range 5 {
		e := newExecution(fmt.Sprint("other ", i))
		w := b.write(e.ID)
		w.Start = &e
		results, err := b.store.Commit(b.ctx, []journal.Write{w})
		require.NoError(t, err)
		require.NoError(t, results[0].Err)
	}
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	rows := 1
	if err := tx.Commit(b.ctx, w); err != nil {
		require.ErrorIs(t, err, journal.ErrConflict)
		rows = 0
	}
	require.Len(t, b.entries(t, id), rows, "both or neither")
	require.Len(t, b.rows(t, "default", "SELECT id FROM accounts"), rows)
}
