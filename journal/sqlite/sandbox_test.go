package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal/sqlite"
)

// hostileStatements must be refused and leave the transaction usable.
var hostileStatements = []string{
	// Cruster's tables, SQLite's, and the tables of another namespace.
	"SELECT * FROM secrets",
	"SELECT text FROM main.secrets",
	"SELECT count(*) FROM secrets",
	"SELECT 1 FROM accounts WHERE EXISTS (SELECT 1 FROM secrets)",
	"SELECT owner FROM accounts UNION SELECT text FROM secrets",
	"SELECT (SELECT text FROM secrets) FROM accounts",
	"SELECT * FROM [secrets]",
	"SELECT * FROM `SECRETS`",
	"SELECT * FROM \"secrets@theirs\"",
	"SELECT * FROM [SECRETS@theirs] AS secrets",
	"SELECT count(*) FROM main.'secrets@theirs'",
	"INSERT INTO accounts (id) VALUES (5) RETURNING (SELECT text FROM \"secrets@theirs\")",
	"WITH \"secrets\" AS (SELECT text FROM \"secrets@theirs\") SELECT * FROM secrets",
	"UPDATE \"secrets@theirs\" SET text = 'loud'",
	"DELETE FROM \"secrets@theirs\"",
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
	"SELECT value FROM cruster_inbox",
	"DELETE FROM cruster_inbox",
	"INSERT INTO accounts (id, owner) SELECT position, value FROM cruster_inbox",
	"SELECT value FROM main.cruster_receipts",
	"DELETE FROM cruster_receipts",
	"SELECT state FROM cruster_entities",
	"UPDATE cruster_entities SET state = x''",
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
	for _, hostile := range hostileStatements {
		for _, query := range ofOthers(hostile) {
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
	}
	b.requireTheirs(t)
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

// TestSlowFunctions would take hours with SQLite's own, and could not be stopped.
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
