package postgres

import (
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/migrations"
)

// migration is a store at work, and the changes that another version of the program would make to its schema.
type migration struct {
	t      *testing.T
	admin  *pgx.Conn
	config Config
	store  *Store
	fences []journal.Fence
	starts int
}

func newMigration(t *testing.T) *migration {
	t.Helper()
	m := &migration{t: t}
	var err error
	m.config, err = Config{
		DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Logger: slog.New(slog.DiscardHandler), MigrateWait: time.Second,
	}.withDefaults()
	require.NoError(t, err)
	m.store, err = Open(t.Context(), m.config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.store.Close()) })
	m.fences, err = m.store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	m.admin = m.connect()
	return m
}

func (m *migration) connect() *pgx.Conn {
	conn, err := pgx.Connect(m.t.Context(), m.config.DSN)
	require.NoError(m.t, err)
	m.t.Cleanup(func() { _ = conn.Close(m.t.Context()) })
	return conn
}

// exec runs a statement, in which SCHEMA is the store's.
func (m *migration) exec(conn *pgx.Conn, sql string) {
	m.t.Helper()
	_, err := conn.Exec(m.t.Context(), strings.ReplaceAll(sql, "SCHEMA", m.config.Schema))
	require.NoError(m.t, err)
}

// is evaluates a condition, in which SCHEMA is the store's.
func (m *migration) is(condition string) (is bool) {
	m.t.Helper()
	require.NoError(
		m.t,
		m.admin.QueryRow(m.t.Context(), "SELECT "+strings.ReplaceAll(condition, "SCHEMA", m.config.Schema)).Scan(&is),
	)
	return is
}

// work starts an execution.
func (m *migration) work() error {
	m.starts++
	id := journal.IDOf("default", "bank/Transfer", fmt.Sprint(m.starts))
	results, err := m.store.Commit(m.t.Context(), []journal.Write{{
		ID: id, Run: journal.RunID(id), Fence: m.fences[id.Shard()],
		Start: &journal.Execution{ID: id, Run: journal.RunID(id), Namespace: "default", State: journal.Running},
	}})
	if err == nil {
		err = results[0].Err
	}
	return err
}

// by migrates as a program with these files does.
func (m *migration) by(files fs.FS) error {
	base, err := pgx.ParseConfig(m.config.DSN)
	require.NoError(m.t, err)
	return migrate(m.t.Context(), base, &m.config, files)
}

// with is the schema of this program and a step more.
func with(t *testing.T, step string) fs.FS {
	t.Helper()
	files := fstest.MapFS{"postgres/99999_later.sql": {Data: []byte(step)}}
	names, err := fs.Glob(migrations.Postgres, "*/*.sql")
	require.NoError(t, err)
	for _, name := range names {
		content, err := fs.ReadFile(migrations.Postgres, name)
		require.NoError(t, err)
		files[name] = &fstest.MapFile{Data: content}
	}
	return files
}

// A program that is older than the schema is refused, and changes nothing. The program is today's,
// and the schema has a step that it does not know: a binary that was built before today's schema is
// in no checkout, and binaries older than the check itself could not be refused. The other
// direction, a store that an older binary wrote, is TestAStoreOfAnEarlierVersionGoesOn.
func TestOldProgramIsRefused(t *testing.T) {
	t.Parallel()
	m := newMigration(t)
	require.NoError(t, m.by(with(t, "-- +goose Up\nCREATE TABLE later (a bigint);\n")))
	err := m.by(migrations.Postgres)
	require.Equal(t, abi.CodeStoreNewer, abi.CodeOf(err), "%v", err)
	_, err = Open(t.Context(), m.config)
	require.Equal(t, abi.CodeStoreNewer, abi.CodeOf(err), "%v", err)
	require.True(t, m.is("to_regclass('SCHEMA.later') IS NOT NULL"))
	require.NoError(t, m.work(), "a host at work goes on")
}

// A step that does not get its lock does not hold up the commits of a host at work, which would queue behind it.
func TestMigrationDoesNotHoldUpAHost(t *testing.T) {
	t.Parallel()
	m := newMigration(t)
	reader := m.connect()
	m.exec(reader, "BEGIN; SELECT count(*) FROM SCHEMA.executions")
	later := with(t, "-- +goose Up\nALTER TABLE executions ADD COLUMN later bigint;\n")
	ended := make(chan error, 1)
	go func() { ended <- m.by(later) }()
	for waiting := true; waiting; {
		require.NoError(t, m.work())
		select {
		case err := <-ended:
			require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "in use")
			waiting = false
		default:
		}
	}
	require.False(
		t,
		m.is("EXISTS (SELECT FROM information_schema.columns WHERE table_schema = 'SCHEMA' AND column_name = 'later')"),
	)
	m.exec(reader, "COMMIT")
	require.NoError(t, m.by(later))
	require.NoError(t, m.work(), "what was added is not in its way")
}

// An index is made beside the commits of a host at work, and hosts that start meanwhile wait for it without
// being in its way.
func TestIndexIsMadeBesideAHost(t *testing.T) {
	t.Parallel()
	m := newMigration(t)
	writer := m.connect()
	m.exec(writer, "BEGIN; DELETE FROM SCHEMA.executions WHERE false; SELECT txid_current()")
	m.exec(writer, "LOCK TABLE SCHEMA.executions IN ROW EXCLUSIVE MODE")
	later := with(t, `-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS executions_later;
CREATE INDEX CONCURRENTLY executions_later ON executions (namespace, workflow);
RESET lock_timeout;
`)
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- m.by(later) }()
	}
	const building = `to_regclass('SCHEMA.executions_later') IS NOT NULL AND EXISTS (SELECT FROM pg_locks
		WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity
			WHERE query LIKE '%INDEX CONCURRENTLY%executions_later%'))`
	require.Eventually(t, func() bool { return m.is(building) }, time.Hour, 10*time.Millisecond)
	for range 20 {
		require.NoError(t, m.work())
	}
	m.exec(writer, "COMMIT")
	require.NoError(t, <-ended)
	require.NoError(t, <-ended)
	require.True(t, m.is("(SELECT indisvalid FROM pg_index WHERE indexrelid = 'SCHEMA.executions_later'::regclass)"))
}

// A schema that is new is made beside a transaction of another program in the same database, however long that takes.
func TestNewSchemaBesideATransaction(t *testing.T) {
	t.Parallel()
	other, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	tx, err := other.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT count(*) FROM pg_class")
	require.NoError(t, err)
	newMigration(t)
	require.NoError(t, tx.Rollback(t.Context()), "it was open until now")
	require.NoError(t, other.Close(t.Context()))
}
