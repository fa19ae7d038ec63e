package postgres_test

import (
	"context"
	"log/slog"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

func TestHostsStartTogether(t *testing.T) {
	t.Parallel()
	config := postgres.Config{
		DSN:           pgtest.DSN(t),
		Schema:        pgtest.Schema(t),
		Logger:        slog.New(slog.DiscardHandler),
		MaxConns:      2,
		MaxGuestConns: 2,
	}
	var group errgroup.Group
	for range 4 {
		group.Go(func() error {
			store, err := postgres.Open(t.Context(), config)
			if err != nil {
				return err
			}
			defer store.Close()
			_, err = store.Deploy(
				t.Context(), journal.Fence{}, journal.Module{Digest: "sha256:01"},
				journal.Deployment{Namespace: "default", Name: "a", Digest: "sha256:01"},
				[]abi.Migration{{Version: 1, SQL: "CREATE TABLE t (a INT)"}},
			)
			return err
		})
	}
	require.NoError(t, group.Wait())
	d, err := open(t, postgres.Config{Schema: config.Schema}).Deployment(t.Context(), "default", "a")
	require.NoError(t, err)
	require.EqualValues(t, 4, d.Version)
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []postgres.Config{
		{},
		{DSN: "postgres://x:port"},
		{DSN: "postgres://x", Schema: "Upper"},
		{DSN: "postgres://x", Schema: "a__b"},
		{DSN: "postgres://x", Schema: "a_"},
		{DSN: "postgres://x", Schema: "pg_x"},
		{DSN: "postgres://x", Schema: "a; DROP SCHEMA b"},
		{DSN: "postgres://x", Schema: "far_too_long_for_a_name_of_a_schema"},
		{DSN: "postgres://x", GuestTxLimit: -1},
		{DSN: "postgres://x", MaxConns: -1},
	} {
		_, err := postgres.Open(t.Context(), c)
		require.Equal(t, abi.CodeBadConfig, abi.CodeOf(err), "%+v: %v", c, err)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), postgres.Config{
		DSN: "postgres://cruster:secret@/x?host=" + url.QueryEscape(t.TempDir()),
	})
	require.Equal(t, abi.CodeStore, abi.CodeOf(err), "%v", err)
	require.NotContains(t, err.Error(), "secret")
}

// asUser makes a login with the given rights and returns its connection string.
func asUser(t *testing.T, name, rights string, grants ...string) string {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	defer admin.Close(t.Context())
	for _, sql := range append([]string{"CREATE ROLE " + name + " LOGIN " + rights}, grants...) {
		_, err := admin.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		admin, err := pgx.Connect(ctx, pgtest.DSN(t))
		require.NoError(t, err)
		defer admin.Close(ctx)
		for _, sql := range []string{"DROP OWNED BY " + name + " CASCADE", "DROP ROLE " + name} {
			_, err := admin.Exec(ctx, sql)
			require.NoError(t, err)
		}
	})
	u, err := url.Parse(pgtest.DSN(t))
	require.NoError(t, err)
	u.User = url.User(name)
	return u.String()
}

// Rights on the database are granted by this test alone: two at a time would collide in the catalogue.
func TestRightsOfTheDatabaseUser(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	_, err := postgres.Open(t.Context(), postgres.Config{DSN: asUser(t, schema+"_none", ""), Schema: schema})
	require.Equal(t, abi.CodeStorePrivilege, abi.CodeOf(err), "%v", err)
	require.Contains(t, abi.AsError(err).Hint, "GRANT CREATE ON DATABASE")

	some := schema + "_some"
	dsn := asUser(t, some, "", `GRANT CREATE ON DATABASE `+database(t)+` TO `+some)
	_, err = postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
	require.Equal(t, abi.CodeStorePrivilege, abi.CodeOf(err), "%v", err)
	require.Contains(t, abi.AsError(err).Hint, "ALTER ROLE \""+some+"\" CREATEROLE")

	// With the privileges in the hints, everything works: no superuser is needed.
	enough := schema + "_enough"
	dsn = asUser(t, enough, "CREATEROLE", `GRANT CREATE ON DATABASE `+database(t)+` TO `+enough)
	b := &testBundle{schema: schema, store: open(t, postgres.Config{DSN: dsn, Schema: schema})}
	b.fences, err = b.store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	b.deploy(t, "default", accounts)
	b.id = journal.IDOf("default", "bank/Transfer", "k")
	w := b.write()
	w.Start = &journal.Execution{ID: b.id, Run: w.Run, Namespace: "default", State: journal.Running}
	require.Equal(t, journal.Result{}, b.commit(t, w))
	tx := b.begin(t, "default")
	_, err = tx.Exec(t.Context(), "UPDATE accounts SET balance = 5 WHERE id = $1", []any{int64(1)})
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), replaceSchema("SELECT * FROM SCHEMA.executions", schema), nil)
	require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), "%v", err)
	require.NoError(t, tx.Commit(t.Context(), b.entry(1)))
	require.Equal(t, 1, b.entries(t))

	// Someone else may use the schema as it is, and does not change it.
	other := schema + "_other"
	dsn = asUser(t, other, "CREATEROLE", `GRANT CREATE ON DATABASE `+database(t)+` TO `+other,
		`GRANT USAGE ON SCHEMA `+schema+` TO `+other, `GRANT ALL ON ALL TABLES IN SCHEMA `+schema+` TO `+other)
	_, err = open(t, postgres.Config{DSN: dsn, Schema: schema}).Deployment(t.Context(), "default", "bank")
	require.NoError(t, err)
	admin, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	defer admin.Close(t.Context())
	_, err = admin.Exec(t.Context(), replaceSchema(`DELETE FROM SCHEMA.goose_db_version
		WHERE version_id = (SELECT max(version_id) FROM SCHEMA.goose_db_version)`, schema))
	require.NoError(t, err)
	_, err = postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
	require.Equal(t, abi.CodeStorePrivilege, abi.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, `belongs to "`+enough+`"`)
}

func database(t *testing.T) string {
	t.Helper()
	config, err := pgx.ParseConfig(pgtest.DSN(t))
	require.NoError(t, err)
	return pgx.Identifier{config.Database}.Sanitize()
}

func TestCommitsAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{})
	b.deploy(t, "default", accounts)
	before := b.store.Commits()
	b.commit(t, b.entry(1))
	tx := b.begin(t, "default")
	_, err := tx.Exec(t.Context(), "SELECT 1", nil)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context(), b.entry(2)))
	b.commit(t, b.entry(2)) // is refused
	require.NoError(t, b.begin(t, "default").Rollback(t.Context()))
	require.Equal(t, before+2, b.store.Commits())
}
