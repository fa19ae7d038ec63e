package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var hostileTests = []test{
	{"Statements", needsGuest, testHostileStatements},
	{"OtherNamespace", needsGuest, testHostileOtherNamespace},
	{"Migrations", needsGuest, testHostileMigrations},
}

// hostileStatements must be refused by every store, in words of either dialect.
var hostileStatements = []string{
	"",
	"   ",
	"-- nothing",
	";",
	"COMMIT",
	"ROLLBACK",
	"BEGIN",
	"END",
	"SAVEPOINT x",
	"RELEASE x",
	"/* hidden */ COMMIT",
	"-- hidden\nROLLBACK",
	"SELECT 1; COMMIT",
	"SELECT 1; DELETE FROM accounts",
	"INSERT INTO accounts (id, owner) VALUES (99, 'eve'); COMMIT; --",
	"SELECT * FROM cruster_executions",
	"SELECT * FROM main.cruster_executions",
	"SELECT * FROM \"cruster_executions\"",
	"SELECT count(*) FROM cruster_shards",
	"SELECT id FROM accounts UNION ALL SELECT shard FROM cruster_shards",
	"SELECT id, (SELECT max(epoch) FROM cruster_shards) FROM accounts",
	"WITH x AS (SELECT epoch FROM cruster_shards) SELECT * FROM x",
	"INSERT INTO accounts (id, owner) SELECT shard, owner FROM cruster_shards",
	"UPDATE cruster_shards SET epoch = 99",
	"DELETE FROM cruster_entries",
	"SELECT value FROM cruster_inbox",
	"DELETE FROM cruster_receipts",
	"UPDATE cruster_entities SET version = 9",
	"DELETE FROM cruster_locks",
	"SELECT body FROM cruster_published",
	"UPDATE cruster_attributes SET text = 'eve'",
	"INSERT INTO cruster_continued (shard, run) VALUES (0, x'00')",
	"INSERT INTO cruster_shards (shard, epoch, owner) VALUES (300, 1, 'x')",
	"DROP TABLE accounts",
	"DROP TABLE cruster_entries",
	"CREATE TABLE more (id BIGINT)",
	"CREATE TEMP TABLE more (id BIGINT)",
	"CREATE VIEW v AS SELECT * FROM accounts",
	"CREATE INDEX i ON accounts (owner)",
	"ALTER TABLE accounts ADD COLUMN x TEXT",
	"ALTER TABLE accounts RENAME TO cruster_x",
	"CREATE TRIGGER x AFTER INSERT ON accounts BEGIN DELETE FROM accounts; END",
	"VACUUM",
	"ANALYZE",
	"EXPLAIN SELECT 1",
}

func testHostileStatements(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	id := b.start(t, newExecution("k"))
	w := b.write(id)
	w.Entries = []journal.Entry{newEntry(1)}
	b.commit(t, w)
	for _, query := range hostileStatements {
		tx := b.begin(t, "default")
		_, err := tx.Exec(b.ctx, query, nil)
		require.Error(t, err, query)
		require.Contains(t, []abi.Code{abi.CodeSQLForbidden, abi.CodeSQL}, abi.CodeOf(err), "%s: %v", query, err)
		require.NoError(t, tx.Rollback(b.ctx))

		tx = b.begin(t, "default")
		_, _, err = tx.Query(b.ctx, query, nil)
		require.Error(t, err, query)
		require.NoError(t, tx.Rollback(b.ctx))
	}
	require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"))
	require.Len(t, b.entries(t, id), 1)
	w.Entries = []journal.Entry{newEntry(2)}
	b.commit(t, w)
}

func testHostileOtherNamespace(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	m := newModule("sha256:other")
	_, err := b.deploy(m, newDeployment(
		"other", "shop", m.Digest,
	), []abi.Migration{{Version: 1, SQL: "CREATE TABLE items (id BIGINT PRIMARY KEY)"}})
	require.NoError(t, err)
	for _, query := range []string{
		"SELECT id FROM accounts",
		"SELECT count(*) FROM accounts",
		"SELECT id FROM ACCOUNTS",
		"SELECT i.id FROM items i JOIN accounts a ON a.id = i.id",
		"INSERT INTO accounts (id, owner) VALUES (1, 'eve')",
		"INSERT INTO items (id) SELECT id FROM accounts",
		"UPDATE accounts SET balance = 0",
		"DELETE FROM accounts",
	} {
		tx := b.begin(t, "other")
		_, err := tx.Exec(b.ctx, query, nil)
		require.Error(t, err, query)
		require.NoError(t, tx.Rollback(b.ctx))
	}
	require.Empty(t, b.rows(t, "other", "SELECT id FROM items"))
}

func testHostileMigrations(t *testing.T, b *bundle) {
	b.deployTables(t, "default")
	for _, sql := range []string{
		"DROP TABLE cruster_entries",
		"CREATE TABLE cruster_mine (id BIGINT)",
		"CREATE TABLE copied AS SELECT * FROM cruster_shards",
		"CREATE VIEW spy AS SELECT * FROM cruster_shards",
		"CREATE VIEW spy AS SELECT state FROM cruster_entities",
		"CREATE TABLE a (id BIGINT); CREATE TRIGGER x AFTER INSERT ON a BEGIN DELETE FROM cruster_inbox; END",
		"CREATE TABLE a (id BIGINT); ALTER TABLE a RENAME TO cruster_x",
		"CREATE TABLE a (id BIGINT); COMMIT; CREATE TABLE b (id BIGINT)",
		"CREATE TABLE a (id BIGINT); ROLLBACK",
		"UPDATE cruster_shards SET epoch = 99",
		"INSERT INTO cruster_shards (shard, epoch, owner) VALUES (300, 1, 'x')",
		"CREATE TABLE a (id BIGINT); CREATE TRIGGER x AFTER INSERT ON a BEGIN DELETE FROM cruster_shards; END",
		"CREATE TEMP TABLE a (id BIGINT)",
		"VACUUM",
	} {
		m := newModule("sha256:hostile")
		_, err := b.deploy(m, newDeployment("other", "hostile", m.Digest), []abi.Migration{{Version: 1, SQL: sql}})
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%s: %v", sql, err)
		_, err = b.store.Deployment(b.ctx, "other", "hostile")
		require.ErrorIs(t, err, journal.ErrNotFound, sql)
	}
	b.start(t, newExecution("still works"))
}
