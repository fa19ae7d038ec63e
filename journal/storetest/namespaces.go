package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// A namespace has tables of its own: the same module works in each, with the same names.
var namespaceTests = []test{
	{"SameModuleInSeveral", needsGuest, testNamespacesSameModule},
	{"SameNamesOtherTables", needsGuest, testNamespacesOtherTables},
	{"DroppedInOne", needsGuest, testNamespacesDropped},
	{"ErrorsSpeakOfTheModulesNames", needsGuest, testNamespacesErrors},
	{"AfterAStart", needsBoth(needsGuest, needsDurable), testNamespacesAfterAStart},
}

func needsBoth(a, b func(Harness) bool) func(Harness) bool {
	return func(h Harness) bool { return a(h) && b(h) }
}

var threeNamespaces = []string{journal.DefaultNamespace, "staging", "team-2"}

// deployShop deploys a module with tables that refer to each other, an index and a view.
func (b *bundle) deployShop(t testing.TB, namespace string, more ...string) {
	t.Helper()
	m := newModule("sha256:shop")
	steps := []abi.Migration{{Version: 1, Name: "shop", SQL: `
		CREATE TABLE orders (id BIGINT PRIMARY KEY, customer TEXT NOT NULL,
			total BIGINT NOT NULL DEFAULT 0 CHECK (orders.total >= 0));
		CREATE TABLE items (id BIGINT PRIMARY KEY, "order" BIGINT NOT NULL REFERENCES orders (id) ON
			DELETE CASCADE, price BIGINT NOT NULL);
		CREATE UNIQUE INDEX items_order ON items ("order", id);
		CREATE VIEW spent AS SELECT orders.customer, sum(items.price) AS price FROM orders
			JOIN items ON items."order" = orders.id GROUP BY orders.customer;`}}
	for i, sql := range more {
		steps = append(steps, abi.Migration{Version: int64(2 + i), Name: "more", SQL: sql})
	}
	_, err := b.deploy(m, newDeployment(namespace, "shop", m.Digest), steps)
	require.NoError(t, err, namespace)
}

// change runs a statement and commits it.
func (b *bundle) change(t testing.TB, namespace, query string, args ...any) int64 {
	t.Helper()
	w := b.write(b.start(t, newExecution(namespace+query)))
	tx := b.begin(t, namespace)
	n, err := tx.Exec(b.ctx, query, args)
	require.NoError(t, err, "%s in %s", query, namespace)
	w.Entries = []journal.Entry{newEntry(1)}
	require.NoError(t, tx.Commit(b.ctx, w))
	return n
}

func testNamespacesSameModule(t *testing.T, b *bundle) {
	for _, namespace := range threeNamespaces {
		b.deployShop(t, namespace)
	}
	for _, namespace := range threeNamespaces {
		b.change(t, namespace, "INSERT INTO orders (id, customer) VALUES (1, $1), (2, 'bob')", namespace)
		b.change(t, namespace, `INSERT INTO items (id, "order", price) VALUES (10, 1, 5), (11, 1, 6), (12, 2, 7)`)
		require.EqualValues(
			t, 2,
			b.change(
				t, namespace,
				"UPDATE orders SET total = (SELECT sum(items.price) FROM items WHERE items.\"order\" = orders.id) "+
					"WHERE orders.id > 0",
			),
		)
	}
	require.EqualValues(t, 1, b.change(t, "staging", "DELETE FROM orders WHERE orders.id = 2"))
	for _, namespace := range threeNamespaces {
		want := [][]any{{int64(1), namespace, int64(11)}, {int64(2), "bob", int64(7)}}
		if namespace == "staging" {
			want = want[:1]
		}
		require.Equal(t, want, b.rows(t, namespace, "SELECT * FROM orders ORDER BY orders.id"), namespace)
		require.Len(
			t, b.rows(t, namespace, "SELECT o.id FROM items JOIN orders o ON o.id = items.\"order\""), len(want)+1,
			namespace,
		)
		require.Len(t, b.rows(t, namespace, "SELECT customer FROM spent WHERE spent.price > 0"), len(want), namespace)
	}
}

func testNamespacesOtherTables(t *testing.T, b *bundle) {
	m := newModule("sha256:aa")
	for namespace, sql := range map[string]string{
		"default": "CREATE TABLE things (id BIGINT PRIMARY KEY); CREATE INDEX things_index ON things (id)",
		"staging": "CREATE TABLE things (name TEXT PRIMARY KEY, n BIGINT); CREATE INDEX things_index ON things (n, name)",
		"team-2": "CREATE TABLE base (x BIGINT); CREATE VIEW things AS SELECT base.x FROM base; CREATE TABLE " +
			"things_index (y BIGINT)",
	} {
		_, err := b.deploy(m, newDeployment(namespace, "things", m.Digest), []abi.Migration{{Version: 1, SQL: sql}})
		require.NoError(t, err, namespace)
	}
	b.change(t, "default", "INSERT INTO things (id) VALUES (1)")
	b.change(t, "staging", "INSERT INTO things (name, n) VALUES ('a', 2)")
	b.change(t, "team-2", "INSERT INTO base (x) VALUES (3)")
	require.Equal(t, [][]any{{int64(1)}}, b.rows(t, "default", "SELECT * FROM things"))
	require.Equal(t, [][]any{{"a", int64(2)}}, b.rows(t, "staging", "SELECT * FROM things"))
	require.Equal(t, [][]any{{int64(3)}}, b.rows(t, "team-2", "SELECT * FROM things"))
}

func testNamespacesDropped(t *testing.T, b *bundle) {
	b.deployShop(t, "default")
	b.deployShop(
		t, "staging",
		"DROP VIEW spent; DROP TABLE items; ALTER TABLE orders RENAME TO purchases; CREATE TABLE orders (name TEXT)",
	)
	b.change(t, "default", "INSERT INTO orders (id, customer) VALUES (1, 'ada')")
	require.Len(
		t, b.rows(t, "default", "SELECT orders.id FROM orders LEFT JOIN items ON items.\"order\" = orders.id"), 1,
	)
	require.Empty(t, b.rows(t, "default", "SELECT customer FROM spent"))
	require.Empty(t, b.rows(t, "staging", "SELECT orders.name FROM orders"))
	require.Empty(t, b.rows(t, "staging", "SELECT purchases.total FROM purchases"))
	tx := b.begin(t, "staging")
	_, _, err := tx.Query(b.ctx, "SELECT id FROM items", nil)
	require.Contains(t, []abi.Code{abi.CodeSQL, abi.CodeSQLForbidden}, abi.CodeOf(err), "%v", err)
}

func testNamespacesErrors(t *testing.T, b *bundle) {
	for _, namespace := range threeNamespaces {
		b.deployShop(t, namespace)
		b.change(t, namespace, "INSERT INTO orders (id, customer) VALUES (1, 'ada')")
		for _, query := range []string{
			"INSERT INTO orders (id, customer) VALUES (1, 'ada')",
			"UPDATE orders SET total = -1",
			"SELECT nothing FROM orders",
		} {
			tx := b.begin(t, namespace)
			_, _, err := tx.Query(b.ctx, query, nil)
			require.Equal(t, abi.CodeSQL, abi.CodeOf(err), "%s in %s: %v", query, namespace, err)
			require.NotContains(t, err.Error(), namespace)
			require.NoError(t, tx.Rollback(b.ctx))
		}
	}
	m := newModule("sha256:shop")
	_, err := b.deploy(m, newDeployment(
		"staging", "again", m.Digest,
	), []abi.Migration{{Version: 1, Name: "again", SQL: "CREATE TABLE orders (id BIGINT)"}})
	require.Equal(t, abi.CodeMigrationFailed, abi.CodeOf(err), "the deployments of a namespace share its tables")
	require.ErrorContains(t, err, `"orders"`)
}

func testNamespacesAfterAStart(t *testing.T, b *bundle) {
	for _, namespace := range threeNamespaces {
		b.deployShop(t, namespace)
		b.change(t, namespace, "INSERT INTO orders (id, customer) VALUES (1, $1)", namespace)
	}
	require.NoError(t, b.store.Close())
	b.open(t)
	b.claim(t, "second")
	for _, namespace := range threeNamespaces {
		require.Equal(t, [][]any{{namespace}}, b.rows(t, namespace, "SELECT orders.customer FROM orders"))
		b.deployShop(t, namespace, "ALTER TABLE orders ADD COLUMN note TEXT")
		b.change(t, namespace, "UPDATE orders SET note = 'n' WHERE orders.customer = $1", namespace)
	}
}
