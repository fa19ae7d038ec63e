package storetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

var deployTests = []test{
	{"RoundTrip", nil, testDeployRoundTrip},
	{"Versions", nil, testDeployVersions},
	{"Digests", nil, testDeployDigests},
	{"LargeModule", nil, testDeployLargeModule},
	{"ChangedMigration", nil, testDeployChangedMigration},
	{"OtherDialectPassedOver", nil, testDeployOtherDialect},
	{"MigrationsAppliedOnce", needsGuest, testDeployMigrationsOnce},
	{"FailingMigrationLeavesNothing", needsGuest, testDeployFailingMigration},
	{"SeveralStatements", needsGuest, testDeploySeveralStatements},
	{"TwoDeploymentsOfANamespace", needsGuest, testDeployTwoDeployments},
	{"SecondNameOfAModuleWithTables", needsGuest, testDeploySecondName},
}

func testDeployRoundTrip(t *testing.T, b *bundle) {
	m, d := newModule("sha256:aa"), newDeployment("default", "orders", "sha256:aa")
	got, err := b.deploy(m, d, nil)
	require.NoError(t, err)
	d.Version = 1
	require.Equal(t, d, got)

	module, err := b.store.Module(b.ctx, m.Digest)
	require.NoError(t, err)
	require.Equal(t, &m, module)
	deployment, err := b.store.Deployment(b.ctx, "default", "orders")
	require.NoError(t, err)
	require.Equal(t, &d, deployment)

	_, err = b.store.Module(b.ctx, "sha256:bb")
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.store.Deployment(b.ctx, "other", "orders")
	require.ErrorIs(t, err, journal.ErrNotFound)
	none, err := b.store.Deployments(b.ctx, "other")
	require.NoError(t, err)
	require.Empty(t, none)

	bare := journal.Deployment{Namespace: "default", Name: "bare", Digest: m.Digest}
	_, err = b.deploy(m, bare, nil)
	require.NoError(t, err)
	deployment, err = b.store.Deployment(b.ctx, "default", "bare")
	require.NoError(t, err)
	require.Empty(t, deployment.Config)
	require.Empty(t, deployment.AllowHTTP)
}

func testDeployVersions(t *testing.T, b *bundle) {
	m := newModule("sha256:aa")
	for version := int64(1); version <= 3; version++ {
		d, err := b.deploy(m, newDeployment("default", "orders", m.Digest), nil)
		require.NoError(t, err)
		require.Equal(t, version, d.Version)
	}
	again := m
	again.CreatedAt = 99
	d := newDeployment("default", "billing", m.Digest)
	d.Config, d.AllowHTTP, d.UpdatedAt = map[string]string{"a": "b", "ü": ""}, []string{"x", "y"}, 50
	got, err := b.deploy(again, d, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version, "each name counts for itself")
	stored, err := b.store.Module(b.ctx, m.Digest)
	require.NoError(t, err)
	require.Equal(t, &m, stored, "a digest is stored once")

	other := newModule("sha256:bb")
	_, err = b.deploy(other, newDeployment("default", "orders", other.Digest), nil)
	require.NoError(t, err)
	all, err := b.store.Deployments(b.ctx, "default")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, got, all[0])
	require.Equal(t, "orders", all[1].Name)
	require.Equal(t, "sha256:bb", all[1].Digest)
	require.EqualValues(t, 4, all[1].Version)
	_, err = b.store.Module(b.ctx, m.Digest)
	require.NoError(t, err, "old digests stay")
}

func testDeployDigests(t *testing.T, b *bundle) {
	for _, digest := range []string{"ab2", "ab1", "ab", "aB", "b", "a_c", "a%"} {
		_, err := b.deploy(newModule(digest), newDeployment("default", "orders", digest), nil)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		prefix string
		limit  int
		want   []string
	}{
		{"ab", 10, []string{"ab", "ab1", "ab2"}},
		{"ab", 2, []string{"ab", "ab1"}},
		{"ab1", 10, []string{"ab1"}},
		{"a_", 10, []string{"a_c"}},
		{"a%", 10, []string{"a%"}},
		{"c", 10, nil},
		{"ab\x00", 10, nil},
		{"", 10, []string{"a%", "aB", "a_c", "ab", "ab1", "ab2", "b"}},
	} {
		got, err := b.store.Digests(b.ctx, c.prefix, c.limit)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q", c.prefix)
	}
}

func testDeployLargeModule(t *testing.T, b *bundle) {
	m := newModule("sha256:large")
	m.Binary = bytes.Repeat([]byte{0, 1, 2, 0xff}, 5<<20)
	_, err := b.deploy(m, newDeployment("default", "large", m.Digest), nil)
	require.NoError(t, err)
	got, err := b.store.Module(b.ctx, m.Digest)
	require.NoError(t, err)
	require.True(t, bytes.Equal(m.Binary, got.Binary))
}

func testDeployChangedMigration(t *testing.T, b *bundle) {
	m, d := newModule("sha256:aa"), newDeployment("default", "orders", "sha256:aa")
	_, err := b.deploy(m, d, []abi.Migration{{Version: 1, SQL: "CREATE TABLE a (id BIGINT)"}})
	require.NoError(t, err)
	for name, steps := range map[string][]abi.Migration{
		"changed": {{Version: 1, SQL: "CREATE TABLE a (id TEXT)"}},
		"twice":   {{Version: 2, SQL: "CREATE TABLE b (id BIGINT)"}, {Version: 2, SQL: "CREATE TABLE c (id BIGINT)"}},
	} {
		_, err = b.deploy(newModule("sha256:bb"), newDeployment("default", "orders", "sha256:bb"), steps)
		require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%s: %v", name, err)
		_, err = b.store.Module(b.ctx, "sha256:bb")
		require.ErrorIs(t, err, journal.ErrNotFound, name)
		got, err := b.store.Deployment(b.ctx, "default", "orders")
		require.NoError(t, err)
		require.EqualValues(t, 1, got.Version, name)
	}
}

func testDeployOtherDialect(t *testing.T, b *bundle) {
	other := abi.DialectPostgres
	if b.store.Dialect() == other {
		other = abi.DialectSQLite
	}
	m := newModule("sha256:aa")
	_, err := b.deploy(m, newDeployment("default", "orders", m.Digest), []abi.Migration{
		{Version: 1, Dialect: other, SQL: "this is not SQL"},
		{Version: 1, Dialect: b.store.Dialect(), SQL: "CREATE TABLE a (id BIGINT)"},
	})
	require.NoError(t, err)
}

func testDeployMigrationsOnce(t *testing.T, b *bundle) {
	m := newModule("sha256:aa")
	steps := []abi.Migration{
		{Version: 2, Name: "seed", SQL: "INSERT INTO accounts (id, owner) VALUES (1, 'ada')"},
		{Version: 1, Name: "accounts", SQL: "CREATE TABLE accounts (id BIGINT PRIMARY KEY, owner TEXT)"},
	}
	for range 3 {
		_, err := b.deploy(m, newDeployment("default", "bank", m.Digest), steps)
		require.NoError(t, err, "applied in order of version, and once")
	}
	steps = append(steps, abi.Migration{
		Version: 10, Name: "more", SQL: "ALTER TABLE accounts ADD COLUMN note TEXT DEFAULT 'none' NOT NULL",
	})
	_, err := b.deploy(m, newDeployment("default", "bank", m.Digest), steps)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1), "ada", "none"}}, b.rows(t, "default", "SELECT id, owner, note FROM accounts"))
}

func testDeployFailingMigration(t *testing.T, b *bundle) {
	m, d := newModule("sha256:aa"), newDeployment("default", "bank", "sha256:aa")
	_, err := b.deploy(m, d, []abi.Migration{
		{Version: 1, SQL: "CREATE TABLE accounts (id BIGINT PRIMARY KEY)"},
		{Version: 2, Name: "broken", SQL: "INSERT INTO accounts (id) VALUES (1); INSERT INTO nowhere (id) VALUES (1)"},
	})
	require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "broken")
	_, err = b.store.Module(b.ctx, m.Digest)
	require.ErrorIs(t, err, journal.ErrNotFound)
	_, err = b.store.Deployment(b.ctx, "default", "bank")
	require.ErrorIs(t, err, journal.ErrNotFound)

	tx := b.begin(t, "default")
	_, _, err = tx.Query(b.ctx, "SELECT id FROM accounts", nil)
	require.Error(t, err, "the first migration is gone too")
	require.NoError(t, tx.Rollback(b.ctx))

	got, err := b.deploy(m, d, []abi.Migration{{Version: 1, SQL: "CREATE TABLE accounts (id BIGINT PRIMARY KEY)"}})
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	require.Empty(t, b.rows(t, "default", "SELECT id FROM accounts"))
}

func testDeploySeveralStatements(t *testing.T, b *bundle) {
	m := newModule("sha256:aa")
	_, err := b.deploy(m, newDeployment("default", "bank", m.Digest), []abi.Migration{{Version: 1, SQL: `
		-- accounts; and what they hold
		CREATE TABLE accounts (id BIGINT PRIMARY KEY, owner TEXT NOT NULL DEFAULT ';');
		/* several; */ CREATE INDEX accounts_owner ON accounts (owner);
		CREATE TABLE entries (account BIGINT NOT NULL REFERENCES accounts (id),
			amount BIGINT NOT NULL CHECK (amount <> 0));
		CREATE VIEW balances AS SELECT account, sum(amount) AS balance FROM entries GROUP BY account;
		CREATE TABLE gone (id BIGINT);
		INSERT INTO accounts (id) VALUES (1), (2);
		INSERT INTO entries (account, amount) VALUES (1, 5), (1, 6), (2, 7);
		DROP TABLE gone;
		ALTER TABLE accounts RENAME TO holders;
		`}})
	require.NoError(t, err)
	require.Equal(
		t, [][]any{{int64(1), ";"}, {int64(2), ";"}}, b.rows(t, "default", "SELECT id, owner FROM holders ORDER BY id"),
	)
	require.Len(t, b.rows(t, "default", "SELECT account, balance FROM balances"), 2)
	tx := b.begin(t, "default")
	_, _, err = tx.Query(b.ctx, "SELECT id FROM accounts", nil)
	require.Error(t, err)
	require.NoError(t, tx.Rollback(b.ctx))
}

func testDeployTwoDeployments(t *testing.T, b *bundle) {
	m := newModule("sha256:aa")
	_, err := b.deploy(m, newDeployment(
		"default", "bank", m.Digest,
	), []abi.Migration{{Version: 1, SQL: "CREATE TABLE accounts (id BIGINT PRIMARY KEY)"}})
	require.NoError(t, err)
	_, err = b.deploy(m, newDeployment(
		"default", "shop", m.Digest,
	), []abi.Migration{{Version: 1, SQL: "CREATE TABLE items (id BIGINT PRIMARY KEY)"}})
	require.NoError(t, err, "versions count for each deployment")
	require.Empty(
		t, b.rows(t, "default", "SELECT a.id FROM accounts a JOIN items i ON i.id = a.id"),
		"deployments of a namespace share its tables",
	)
}

// testDeploySecondName: the tables of a module are there once in a namespace, and the error names their owner.
func testDeploySecondName(t *testing.T, b *bundle) {
	m := newModule("sha256:aa")
	steps := []abi.Migration{{Version: 1, Name: "rows", SQL: "CREATE TABLE lab_rows (n INTEGER)"}}
	_, err := b.deploy(m, newDeployment("default", "lab", m.Digest), steps)
	require.NoError(t, err)
	_, err = b.deploy(m, newDeployment("default", "lab2", m.Digest), steps)
	coded := abi.AsError(err)
	require.Equal(t, abi.CodeMigrationFailed, coded.Code)
	require.Contains(t, coded.Message, `lab_rows`)
	require.Contains(t, coded.Message, `; deployment "lab" has applied the same migration`)
	require.Contains(t, coded.Hint, `Push the module as "lab" again`)
	require.Contains(t, coded.Hint, "--namespace")
	_, err = b.deploy(m, newDeployment("staging", "lab2", m.Digest), steps)
	require.NoError(t, err, "a namespace of its own, as the hint says")
}
