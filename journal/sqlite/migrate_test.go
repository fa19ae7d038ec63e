package sqlite_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestHostileMigrations(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	for _, sql := range []string{
		"SELECT * FROM secrets",
		"SELECT * FROM sqlite_master",
		"DROP TABLE secrets",
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
		"UPDATE secrets SET text = ''",
		"CREATE TABLE t (id); SELECT load_extension('x')",
	} {
		for _, sql := range ofOthers(sql) {
			err := b.deploy("mine", sql)
			require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%s: %v", sql, err)
		}
	}
	b.requireTheirs(t)
	// The error of a name is said: that it is taken, or that it cannot be had.
	require.ErrorContains(t, b.deploy("mine", "CREATE TABLE accounts (id)"), `the name "accounts" is taken`)
	require.ErrorContains(t, b.deploy("mine", "CREATE VIEW Accounts AS SELECT 1"), `the name "Accounts" is taken`)
	for sql, what := range map[string]string{
		"CREATE TRIGGER t AFTER UPDATE ON accounts BEGIN DELETE FROM accounts; END;":          "triggers",
		"create /* x */ Trigger IF NOT EXISTS t BEFORE INSERT ON nowhere BEGIN SELECT 1; END": "triggers",
		"DROP TRIGGER t":                       "triggers",
		"CREATE TEMP TABLE t (id)":             "temporary tables and views",
		"CREATE VIRTUAL TABLE t USING fts5(x)": "virtual tables",
	} {
		for _, namespace := range []string{"mine", journal.DefaultNamespace} {
			require.ErrorContains(t, b.deploy(namespace, sql), ": "+what+" are not for modules", sql)
		}
	}
	require.ErrorContains(
		t, b.deploy("mine", "CREATE TABLE cruster_x (id)"), `names like "cruster_x" are Cruster's and SQLite's own`,
	)
	// A view may be defined before its tables exist, but in the end it can be read.
	for _, sql := range ofOthers("CREATE VIEW peek AS SELECT text FROM secrets") {
		require.ErrorContains(t, b.deploy("mine", sql), `view "peek": `)
	}
	require.NoError(t, b.deploy("mine", "CREATE VIEW peek AS SELECT text FROM later; CREATE TABLE later (text TEXT)"))
	// Names of others are free, and theirs are left alone.
	for _, name := range []string{"secrets", "vault"} {
		require.NoError(t, b.deploy("mine", "DROP TABLE IF EXISTS "+name))
		require.NoError(
			t, b.deploy("mine", "CREATE TABLE "+name+" (id); INSERT INTO "+name+" VALUES (2); DROP TABLE "+name),
		)
	}
	b.requireTheirs(t)
}

func TestMigrationsOfEverySort(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	require.NoError(t, b.deploy("mine",
		"CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT NOT NULL, y INT GENERATED ALWAYS AS (length(x)) "+
			"STORED) STRICT; "+
			"CREATE UNIQUE INDEX a_x ON a (x) WHERE id > 0",
		"INSERT INTO a (x) VALUES ('one'); ALTER TABLE a ADD COLUMN z TEXT NOT NULL DEFAULT '-'; ALTER TABLE a ADD "+
			"COLUMN n INT CHECK (n > 0)",
		"ALTER TABLE a RENAME COLUMN x TO word; ALTER TABLE a DROP COLUMN n; CREATE VIEW words AS SELECT word FROM a; "+
			"DROP INDEX a_x",
		"CREATE TABLE b (id TEXT PRIMARY KEY, a INTEGER REFERENCES a (id) ON DELETE CASCADE DEFERRABLE INITIALLY "+
			"DEFERRED) WITHOUT ROWID; CREATE TABLE c AS SELECT * FROM a",
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

func TestEndlessMigration(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	ctx, cancel := context.WithTimeout(b.ctx, 50*time.Millisecond)
	defer cancel()
	m := journal.Module{Digest: "sha256:2"}
	d := journal.Deployment{Namespace: "mine", Name: "endless", Digest: m.Digest}
	_, err := b.store.Deploy(ctx, b.fences[d.Shard()], m, d, []abi.Migration{{Version: 1, SQL: endless}})
	if !errors.Is(err, context.DeadlineExceeded) { // before it got the writer
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%v", err)
	}
	_, err = b.store.Module(b.ctx, m.Digest)
	require.ErrorIs(t, err, journal.ErrNotFound)
	b.start(t, "still works")
}
