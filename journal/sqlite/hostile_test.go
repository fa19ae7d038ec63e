package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// guestBundle is a store in which two namespaces have a table each.
type guestBundle struct {
	ctx    context.Context
	dir    string
	store  *sqlite.Store
	epochs []journal.Epoch
}

func newGuestBundle(t testing.TB, config sqlite.Config) *guestBundle {
	config.Dir = t.TempDir()
	if config.GuestTxLimit == 0 {
		config.GuestTxLimit = time.Minute
	}
	b := &guestBundle{ctx: t.Context(), dir: config.Dir, store: open(t, config)}
	var err error
	b.epochs, err = b.store.ClaimShards(b.ctx, "test")
	require.NoError(t, err)
	require.NoError(t, b.deploy("mine", `
		CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner TEXT UNIQUE, balance INTEGER DEFAULT 0);
		INSERT INTO accounts (id, owner) VALUES (1, 'ada')`))
	require.NoError(t, b.deploy("theirs", "CREATE TABLE secrets (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO secrets VALUES (1, 'hush')"))
	return b
}

func (b *guestBundle) deploy(namespace string, sql ...string) error {
	var steps []abi.Migration
	for i, text := range sql {
		steps = append(steps, abi.Migration{Version: int64(i + 1), Name: "step", SQL: text})
	}
	m := journal.Module{Digest: "sha256:1", Binary: []byte("\x00asm")}
	_, err := b.store.Deploy(b.ctx, m, journal.Deployment{Namespace: namespace, Name: "d" + journal.IDOf(namespace, strings.Join(sql, ";"), "").String(), Digest: m.Digest}, steps)
	return err
}

func (b *guestBundle) begin(t testing.TB) journal.GuestTx {
	tx, err := b.store.BeginGuest(b.ctx, "mine")
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func (b *guestBundle) start(t testing.TB, key string) journal.Write {
	id := journal.IDOf("mine", "w/W", key)
	w := journal.Write{ID: id, Epoch: b.epochs[id.Shard()], Start: &journal.Execution{ID: id, Namespace: "mine", Workflow: "w/W", Key: key, State: journal.Running}}
	results, err := b.store.Commit(b.ctx, []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	w.Start = nil
	return w
}

// hostileStatements must be refused and leave the transaction usable.
var hostileStatements = []string{
	// Cruster's tables, SQLite's, and those of another namespace.
	"SELECT * FROM secrets",
	"SELECT text FROM main.secrets",
	"SELECT count(*) FROM secrets",
	"SELECT 1 FROM accounts WHERE EXISTS (SELECT 1 FROM secrets)",
	"SELECT owner FROM accounts UNION SELECT text FROM secrets",
	"SELECT (SELECT text FROM secrets) FROM accounts",
	"SELECT * FROM [secrets]",
	"SELECT * FROM `SECRETS`",
	"SELECT a.id FROM accounts a LEFT JOIN secrets s ON TRUE",
	"WITH accounts AS (SELECT text FROM secrets) SELECT * FROM accounts",
	"INSERT INTO accounts (id, owner) SELECT id + 10, text FROM secrets",
	"UPDATE accounts SET owner = s.text FROM secrets s",
	"UPDATE accounts SET owner = (SELECT text FROM secrets)",
	"DELETE FROM accounts WHERE owner = (SELECT text FROM secrets)",
	"INSERT INTO accounts (id) VALUES (5) RETURNING (SELECT text FROM secrets)",
	"INSERT INTO accounts (id, owner) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET owner = (SELECT text FROM secrets)",
	"SELECT * FROM sqlite_master",
	"SELECT * FROM sqlite_schema",
	"SELECT * FROM sqlite_temp_master",
	"SELECT count(*) FROM sqlite_master",
	"SELECT sql FROM main.sqlite_master",
	"INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, '')",
	"UPDATE sqlite_master SET sql = ''",
	"SELECT * FROM sqlite_dbpage",
	"SELECT * FROM dbstat",
	"SELECT count(*) FROM dbstat",
	"SELECT * FROM cruster_guest_tables",
	"SELECT * FROM cruster_schema_version",
	"UPDATE cruster_guest_tables SET namespace = 'mine'",
	"SELECT * FROM goose_db_version",

	// Pragmas, in both forms.
	"PRAGMA journal_mode = DELETE",
	"PRAGMA writable_schema = ON",
	"/**/PRAGMA synchronous = OFF",
	"SELECT * FROM pragma_table_info('cruster_shards')",
	"SELECT * FROM pragma_table_list",
	"SELECT count(*) FROM pragma_table_list",
	"SELECT name FROM pragma_database_list",
	"SELECT file FROM pragma_database_list()",

	// Other files.
	"ATTACH '/etc/passwd' AS p",
	"ATTACH DATABASE 'stolen.db' AS stolen",
	"DETACH main",
	"VACUUM INTO 'stolen.db'",
	"SELECT readfile('/etc/passwd')",
	"SELECT writefile('stolen.db', 'x')",
	"SELECT edit('x')",
	"SELECT load_extension('/tmp/evil.so')",
	"SELECT fts3_tokenizer('simple')",
	"SELECT * FROM fsdir('/')",

	// Schema and transactions.
	"CREATE VIRTUAL TABLE f USING fts5(x)",
	"CREATE TEMP VIEW v AS SELECT 1",
	"CREATE TEMP TRIGGER tr AFTER INSERT ON accounts BEGIN SELECT 1; END",
	"DROP TABLE IF EXISTS accounts",
	"REINDEX",
	"BEGIN IMMEDIATE",
	"COMMIT -- x",
	"ROLLBACK TO cruster_write",
	"RELEASE cruster_write",

	// More than one statement, however it is hidden.
	"SELECT 1; SELECT 2",
	"SELECT 1;;; COMMIT",
	"SELECT 1; /* */ -- \n COMMIT",
	"SELECT 1; /* unfinished */ ATTACH 'x' AS y",
	"SELECT 1;\x00COMMIT",
	"SELECT 1\x00; COMMIT",
	"\ufeffPRAGMA user_version",
	"\x00",

	// Too large.
	"SELECT zeroblob(1000000000)",
	"SELECT length(randomblob(1000000000))",
	"SELECT printf('%.*c', 1000000000, 'x')",
	"SELECT hex(zeroblob(3000000))",
	"INSERT INTO accounts (id, owner) VALUES (7, zeroblob(100000000))",
	"SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
	"SELECT 1" + strings.Repeat("+1", 5000),
	"SELECT 1 " + strings.Repeat("UNION SELECT 1 ", 5000),
	"SELECT '" + strings.Repeat("x", 2<<20) + "'",
	"SELECT replace(hex(zeroblob(2000000)), '0', '00')",
	"SELECT json_patch('{}', '{}')",
}

func TestHostileStatements(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	for _, query := range hostileStatements {
		name := query[:min(len(query), 80)]
		for range 2 {
			tx := b.begin(t)
			_, err := tx.Exec(b.ctx, query, nil)
			code := abi.CodeOf(err)
			require.Contains(t, []abi.Code{abi.CodeSQLForbidden, abi.CodeSQL}, code, "%s: %v", name, err)
			rows, err := tx.Exec(b.ctx, "UPDATE accounts SET balance = balance WHERE owner = 'ada'", nil)
			require.NoError(t, err, "%s: the transaction goes on", name)
			require.EqualValues(t, 1, rows)
			require.NoError(t, tx.Rollback(b.ctx))
		}
	}
	require.NoFileExists(t, filepath.Join(b.dir, "stolen.db"))
	require.NoFileExists(t, "stolen.db")
	_, err := os.Stat(filepath.Join(b.dir, sqlite.FileName))
	require.NoError(t, err)
	w := b.start(t, "still works")
	tx := b.begin(t)
	_, rows, err := tx.Query(b.ctx, "SELECT id, owner, balance FROM accounts", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1), "ada", int64(0)}}, rows)
	require.NoError(t, tx.Commit(b.ctx, w))
}

// A statement can roll the transaction back by itself; what follows must not
// commit on its own.
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
	entries, err := b.store.Entries(b.ctx, w.ID, 0, 10)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestHostileMigrations(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	for _, sql := range []string{
		"SELECT * FROM secrets",
		"SELECT * FROM sqlite_master",
		"DROP TABLE secrets",
		"DROP TABLE IF EXISTS secrets",
		"ALTER TABLE secrets ADD COLUMN x",
		"ALTER TABLE secrets RENAME TO mine_now",
		"CREATE TABLE copied AS SELECT * FROM secrets",
		"CREATE TABLE copied AS SELECT * FROM sqlite_master",
		"CREATE TABLE copied AS SELECT * FROM pragma_table_list",
		"CREATE INDEX i ON secrets (text)",
		"CREATE TABLE child (id REFERENCES secrets (text))",
		"CREATE TABLE child (id REFERENCES nowhere (id))",
		"CREATE VIEW v AS SELECT * FROM sqlite_master",
		"CREATE VIEW v AS SELECT * FROM Cruster_Shards",
		"CREATE TABLE t (id); ALTER TABLE t RENAME TO \"cruster_x\"",
		"CREATE TABLE t (id); ALTER TABLE t RENAME TO Sqlite_x",
		"CREATE TABLE Goose_db_version (id)",
		"CREATE TABLE t (id); CREATE INDEX cruster_i ON t (id)",
		"CREATE TABLE t (id); CREATE TRIGGER tr AFTER INSERT ON t BEGIN DELETE FROM secrets; END",
		"CREATE TRIGGER tr AFTER INSERT ON secrets BEGIN DELETE FROM accounts; END",
		"CREATE VIRTUAL TABLE f USING fts5(x)",
		"CREATE TEMP TABLE t (id)",
		"CREATE TEMPORARY VIEW t AS SELECT 1",
		"CREATE TABLE temp.t (id)",
		"PRAGMA writable_schema = ON",
		"ATTACH '/etc/passwd' AS p",
		"VACUUM",
		"REINDEX secrets",
		"ANALYZE",
		"EXPLAIN SELECT 1",
		"BEGIN",
		"COMMIT",
		"SAVEPOINT x",
		"CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1); INSERT OR ROLLBACK INTO t VALUES (1)",
		"CREATE TABLE t (id); INSERT INTO t VALUES ($1)",
		"CREATE TABLE t (id); garbage",
		"CREATE TABLE secrets (id)",
		"UPDATE secrets SET text = ''",
		"CREATE TABLE t (id); SELECT load_extension('x')",
	} {
		err := b.deploy("mine", sql)
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%s: %v", sql, err)
	}
	// What is wrong with a name is said: that it is taken, or that it cannot be had.
	require.ErrorContains(t, b.deploy("mine", "CREATE TABLE secrets (id)"), `the name "secrets" is taken`)
	require.ErrorContains(t, b.deploy("mine", "CREATE VIEW Accounts AS SELECT 1"), `the name "Accounts" is taken`)
	require.ErrorContains(t, b.deploy("mine", "CREATE TABLE cruster_x (id)"), `names like "cruster_x" are Cruster's and SQLite's own`)
	// A view may be defined before what it reads exists, but reading it is
	// checked again.
	require.NoError(t, b.deploy("mine", "CREATE VIEW peek AS SELECT text FROM secrets"))
	tx := b.begin(t)
	_, _, err := tx.Query(b.ctx, "SELECT * FROM peek", nil)
	require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), "%v", err)
	require.NoError(t, tx.Rollback(b.ctx))

	theirs, err := b.store.BeginGuest(b.ctx, "theirs")
	require.NoError(t, err)
	_, rows, err := theirs.Query(b.ctx, "SELECT text FROM secrets", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{"hush"}}, rows)
	require.NoError(t, theirs.Rollback(b.ctx))
}

func TestMigrationsOfEverySort(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	require.NoError(t, b.deploy("mine",
		"CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT NOT NULL, y INT GENERATED ALWAYS AS (length(x)) STORED) STRICT; CREATE UNIQUE INDEX a_x ON a (x) WHERE id > 0",
		"INSERT INTO a (x) VALUES ('one'); ALTER TABLE a ADD COLUMN z TEXT NOT NULL DEFAULT '-'; ALTER TABLE a ADD COLUMN n INT CHECK (n > 0)",
		"ALTER TABLE a RENAME COLUMN x TO word; ALTER TABLE a DROP COLUMN n; CREATE VIEW words AS SELECT word FROM a; DROP INDEX a_x",
		"CREATE TABLE b (id TEXT PRIMARY KEY, a INTEGER REFERENCES a (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED) WITHOUT ROWID; CREATE TABLE c AS SELECT * FROM a",
		"DROP VIEW words; CREATE VIEW words AS SELECT upper(word) AS word FROM a; ALTER TABLE c RENAME TO d; DROP TABLE d",
	))
	tx := b.begin(t)
	columns, rows, err := tx.Query(b.ctx, "SELECT words.word, a.y, a.z, j.value FROM words, a, json_each('[5]') j", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"word", "y", "z", "value"}, columns)
	require.Equal(t, [][]any{{"ONE", int64(3), "-", int64(5)}}, rows)

	// A deferred constraint speaks at commit, and nothing is left.
	w := b.startInside(t)
	_, err = tx.Exec(b.ctx, "INSERT INTO b (id, a) VALUES ('x', 77)", nil)
	require.NoError(t, err)
	err = tx.Commit(b.ctx, w)
	require.Equal(t, abi.CodeSQL, abi.CodeOf(err), "%v", err)
	tx = b.begin(t)
	_, rows, err = tx.Query(b.ctx, "SELECT id FROM b", nil)
	require.NoError(t, err)
	require.Empty(t, rows)
}

// startInside is a start for the transaction itself to commit: while it is open
// nobody else can.
func (b *guestBundle) startInside(t testing.TB) journal.Write {
	id := journal.IDOf("mine", "w/W", t.Name())
	return journal.Write{ID: id, Epoch: b.epochs[id.Shard()], Start: &journal.Execution{ID: id, Namespace: "mine", Workflow: "w/W", Key: t.Name(), State: journal.Running}}
}

const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

func TestEndlessStatementHitsTheLimit(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxLimit: 50 * time.Millisecond})
	w := b.start(t, "k")
	for _, query := range []string{endless, "INSERT INTO accounts (owner) " + strings.Replace(endless, "count(*)", "i", 1)} {
		tx := b.begin(t)
		_, err := tx.Exec(b.ctx, query, nil)
		require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err), "%v", err)
		_, err = tx.Exec(b.ctx, "SELECT 1", nil)
		require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(err))
		require.Equal(t, abi.CodeTxTooLong, abi.CodeOf(tx.Commit(b.ctx, w)))
		require.NoError(t, tx.Rollback(b.ctx))
	}
	// Under the same limit a slow machine might not get to look.
	require.NoError(t, b.store.Close())
	b.store = open(t, sqlite.Config{Dir: b.dir, GuestTxLimit: time.Minute})
	tx := b.begin(t)
	_, rows, err := tx.Query(b.ctx, "SELECT count(*) FROM accounts", nil)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1)}}, rows)
}

// TestSlowFunctions would take hours with SQLite's own, and could not be
// stopped.
func TestSlowFunctions(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	tx := b.begin(t)
	for query, want := range map[string]any{
		"SELECT instr(zeroblob(4000000), zeroblob(2000000) || x'01')":                         int64(0),
		"SELECT instr(CAST(zeroblob(4000000) AS BLOB), CAST(zeroblob(2000000) || 1 AS BLOB))": int64(0),
		"SELECT length(replace(hex(zeroblob(2000000)), hex(zeroblob(1000000)) || '1', ''))":   int64(4000000),
		"SELECT trim(hex(zeroblob(2000000)), hex(randomblob(2000000)))":                       "",
		"SELECT length(unhex(hex(zeroblob(2000000)), hex(zeroblob(2000000)) || 'x'))":         int64(2000000),
		"SELECT hex(zeroblob(2000000)) LIKE '" + strings.Repeat("%0", 100) + "%1'":            int64(0),
	} {
		_, rows, err := tx.Query(b.ctx, query, nil)
		require.NoError(t, err, query[:50])
		require.Equal(t, [][]any{{want}}, rows, query[:50])
	}
}

func TestIdleTransactionHitsTheLimit(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{GuestTxLimit: 20 * time.Millisecond})
	b.begin(t)
	b.begin(t) // gets its turn only because the first is rolled back
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

func TestEndlessMigration(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	m := journal.Module{Digest: "sha256:2"}
	_, err := b.store.Deploy(ctx, m, journal.Deployment{Namespace: "mine", Name: "endless", Digest: m.Digest}, []abi.Migration{{Version: 1, SQL: endless}})
	if !errors.Is(err, context.DeadlineExceeded) { // before it came to its turn
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%v", err)
	}
	_, err = b.store.Module(b.ctx, m.Digest)
	require.ErrorIs(t, err, journal.ErrNotFound)
	b.start(t, "still works")
}

func TestDuplicateColumnNames(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	tx := b.begin(t)
	columns, rows, err := tx.Query(b.ctx, "SELECT a.id, b.id, 'x' AS id, owner FROM accounts a JOIN accounts b USING (owner)", nil)
	require.NoError(t, err)
	require.Equal(t, []string{"id", "id", "id", "owner"}, columns)
	require.Equal(t, [][]any{{int64(1), int64(1), "x", "ada"}}, rows)
}
