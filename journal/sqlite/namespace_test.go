package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// plain and named are two namespaces: one with tables that are stored as they are called, and one with tables that
// are stored under other names. A module must not notice which one it is in.
const plain, named = journal.DefaultNamespace, "staging"

// shopSteps are the migrations of a module, with SQLite's kinds of definitions.
var shopSteps = []string{
	`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL, n INT DEFAULT 0 CHECK (n >= 0), items TEXT,
		UNIQUE (customer, n));
	 CREATE TABLE IF NOT EXISTS main.items (id INTEGER PRIMARY KEY, o INT REFERENCES orders (id) ON UPDATE CASCADE ON
	 	DELETE SET NULL DEFERRABLE INITIALLY DEFERRED, body TEXT,
	 	parent INT REFERENCES items);
	 CREATE TABLE "odd name" (id INTEGER PRIMARY KEY, "select" TEXT) STRICT;
	 CREATE TABLE counts (k TEXT PRIMARY KEY, n INT NOT NULL CHECK (counts.n < 1000
	 	AND "counts".k <> 'none')) WITHOUT ROWID;
	 CREATE UNIQUE INDEX orders_items ON orders (lower(items)) WHERE items IS NOT NULL;
	 CREATE INDEX IF NOT EXISTS items_o ON items (o, id);
	 CREATE INDEX items_partial ON items (lower(body), id DESC) WHERE items.o > 0 AND "items".body IS NOT NULL;
	 CREATE TABLE "with" (id INT); INSERT INTO with VALUES (1)`,
	`INSERT INTO orders (id, customer, n, items) VALUES (1, 'ada', 1, NULL), (2, 'bob', 2, 'x'), (3, 'ada', 3, NULL);
	 INSERT INTO items (id, o, body) SELECT id * 10, id, '{"k":[1,2]}' FROM orders;
	 INSERT INTO "odd name" VALUES (1, 'odd'), (2, 'even');
	 CREATE TABLE copies AS SELECT orders.id, count(items.id) AS c FROM orders LEFT JOIN items ON items.o = orders.id
		GROUP BY orders.id;`,
	`CREATE VIEW totals (customer, n) AS WITH t AS (SELECT customer, sum(orders.n) AS n FROM orders GROUP BY customer)
		SELECT t.customer, t.n FROM t;
	 ALTER TABLE orders ADD COLUMN seen INT DEFAULT 0 CHECK (seen IN (0, 1));
	 ALTER TABLE "odd name" RENAME TO [odder];
	 ALTER TABLE items RENAME COLUMN body TO doc;
	 CREATE TABLE gone (id INT); CREATE INDEX gone_id ON gone (id); DROP INDEX gone_id; DROP TABLE gone; DROP TABLE IF
	 	EXISTS gone;
	 CREATE VIEW never AS SELECT 1 AS x; DROP VIEW never;
	 CREATE VIEW early AS WITH x AS (SELECT later.id FROM later), y AS (SELECT * FROM x)
	 	SELECT y.id, later.id IN orders_ids AS known FROM y, later;
	 CREATE TABLE later (id INT); INSERT INTO later VALUES (1), (7); CREATE VIEW orders_ids AS SELECT id FROM orders`,
}

// shopStatements are run one after the other.
var shopStatements = []string{
	"SELECT * FROM orders ORDER BY id",
	"SELECT orders.id, b.id FROM orders, orders b WHERE orders.customer = b.customer ORDER BY 1, 2",
	"SELECT o.id, items.doc FROM orders AS o JOIN \"items\" ON items.o = o.id LEFT JOIN [orders] x USING (id) ORDER BY o.id",
	"SELECT o.*, i.* FROM orders o NATURAL JOIN (SELECT 1 AS one) CROSS JOIN items AS i ON i.o = o.id ORDER BY i.id LIMIT 2",
	"SELECT * FROM main.orders WHERE n > $1 ORDER BY id",
	"SELECT id FROM 'orders' WHERE Orders.ID = 1",
	"SELECT * FROM (orders JOIN (items) ON items.o = orders.id), (SELECT max(id) FROM items), (VALUES (1, 2), (3, 4)) " +
		"v ORDER BY 1, v.column1",
	"SELECT \"odder\".\"select\" FROM odder WHERE odder.id = 2",
	"SELECT k.value, j.key FROM items, json_each(items.doc, '$.k') k, json_tree(items.doc) AS j WHERE items.id = 10",
	"SELECT customer IS DISTINCT FROM items, items IS NOT DISTINCT FROM 'x' FROM orders ORDER BY id",
	"SELECT 'ada' IN (SELECT customer FROM orders), 5 NOT IN (SELECT n FROM totals), 'bob' IN totals FROM copies",
	"SELECT id FROM orders WHERE 3 IN (SELECT n FROM orders o2 WHERE o2.customer = orders.customer) ORDER BY id",
	"SELECT * FROM totals ORDER BY totals.customer",
	`SELECT customer, sum(n) OVER w, rank() OVER (PARTITION BY customer ORDER BY orders.id) FROM orders
		WINDOW w AS (PARTITION BY customer), items AS (ORDER BY id) ORDER BY orders.id`,
	"SELECT id FROM orders NOT INDEXED WHERE n = 1 UNION ALL SELECT id FROM items INDEXED BY items_o WHERE o = 1 " +
		"EXCEPT SELECT 7 FROM copies, orders ORDER BY 1 LIMIT 1, 2",
	`SELECT CASE WHEN n > 1 THEN (SELECT max(items.id) FROM items WHERE items.o = orders.id) END,
		count(*) FILTER (WHERE n > 0) FROM orders
		GROUP BY id HAVING count(*) > 0 ORDER BY id`,
	"WITH orders AS (SELECT 7 AS id) SELECT orders.id FROM orders, copies ORDER BY 1",
	"WITH a AS (SELECT id FROM orders), orders (id) AS NOT MATERIALIZED (SELECT id FROM items) SELECT * FROM (SELECT " +
		"orders.id FROM orders), a ORDER BY 1, 2",
	"SELECT * FROM (WITH items AS (SELECT 5 AS five FROM orders) SELECT * FROM items), items ORDER BY items.id",
	"WITH RECURSIVE n (i) AS (SELECT min(id) FROM orders UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
	"SELECT with.id FROM with, orders",
	"SELECT early.id, known FROM early ORDER BY 1, 2",
	"SELECT orders.id FROM \ufefforders\n, \ufeff items",
	"SELECT orders FROM (SELECT 1 AS orders) WHERE orders = 1 -- FROM orders",
	"SELECT /* FROM items */ 'FROM orders', \"items\" FROM orders WHERE items = 'x';",
	"INSERT INTO orders (customer, n) VALUES ('cy', 4), ('dan', 5) RETURNING orders.id, upper(orders.customer), *",
	"INSERT INTO counts VALUES ('k', 1) ON CONFLICT (k) DO UPDATE SET n = counts.n + excluded.n WHERE counts.n > 0 " +
		"RETURNING n, counts.k",
	"INSERT INTO counts(k, n) VALUES ('k', 1) ON CONFLICT DO UPDATE SET n = counts.n + excluded.n RETURNING n",
	"INSERT INTO counts AS c (k, n) VALUES ('k', 1) ON CONFLICT (k) DO UPDATE SET n = c.n * 10 RETURNING counts.n",
	"INSERT OR REPLACE INTO counts (k, n) SELECT customer, sum(n) FROM orders GROUP BY customer",
	"INSERT INTO copies DEFAULT VALUES",
	"INSERT INTO copies WITH x AS (SELECT id, n FROM orders WHERE orders.n > 1) SELECT * FROM x",
	"REPLACE INTO counts(k, n) SELECT k, n + 1 FROM counts",
	"UPDATE orders SET n = n + 10, items = (SELECT max(items.doc) || orders.id FROM items WHERE items.o = orders.id) " +
		"WHERE orders.id = 1 RETURNING orders.n, items",
	"UPDATE OR IGNORE orders AS o SET n = o.n + i.id FROM items i, totals WHERE i.o = o.id AND totals.customer = " +
		"o.customer",
	"UPDATE counts SET n = counts.n + orders.n FROM orders WHERE orders.customer = counts.k RETURNING k, counts.n",
	"WITH x AS (SELECT max(id) AS m FROM orders) UPDATE orders SET seen = 1 WHERE id = (SELECT m FROM x)",
	"DELETE FROM items WHERE items.o NOT IN (SELECT id FROM orders WHERE orders.n > 20) RETURNING items.id, (SELECT " +
		"count(*) FROM orders)",
	"DELETE FROM items WHERE id > 10 RETURNING id, (SELECT count(*) FROM orders WHERE orders.id = items.o), (SELECT " +
		"items.id FROM items WHERE items.id = 10)",
	"UPDATE orders SET seen = 0 RETURNING EXISTS (SELECT 1 FROM items i WHERE i.o = orders.id), (SELECT count(*) FROM " +
		"orders o WHERE o.id > orders.id)",
	"UPDATE orders SET seen = 0 RETURNING (SELECT max(orders.id) FROM items AS orders), (SELECT max(orders.id) FROM " +
		"(SELECT 5 AS id) orders WHERE orders.id > 1)",
	"INSERT INTO copies (id, c) SELECT id, n FROM orders WHERE true RETURNING (SELECT n FROM orders WHERE orders.id = " +
		"copies.id), json_object('k', (SELECT copies.c))",
	"DELETE FROM copies",
	"VALUES ((SELECT count(*) FROM orders)), (2)",
	"SELECT (SELECT count(*) FROM orders) = (SELECT count(*) FROM main.orders AS m)",

	// Failures are alike.
	"INSERT INTO orders (id, customer) VALUES (1, 'again')",
	"INSERT INTO orders (customer, n) VALUES ('ada', -1)",
	"INSERT INTO orders (customer, n) VALUES (NULL, 1)",
	"INSERT INTO orders (id, customer) VALUES ('x', 'y')",
	"INSERT INTO items (id, o) VALUES (77, 1), (77, 2)",
	"INSERT INTO orders (customer, items) VALUES ('x', 'dup'), ('y', 'DUP')",
	"INSERT INTO orders (customer) VALUES ('x') RETURNING items.id",
	"SELECT nothing FROM orders",
	"SELECT orders.nothing FROM orders o",
	"SELECT * FROM nowhere",
	"SELECT * FROM gone",
	"SELECT * FROM orders WHERE n = 'unfinished",
	"SELECT * FROM \"orders",
	"SELECT * FROM orders(1)",
	"SELECT * FROM sqlite_schema",
	"SELECT id FROM orders, items",
	"SELECT 1; SELECT * FROM orders",
	"SELECT * FROM orders INDEXED BY none",
	"SELECT * FROM order",
	"SELECT * FROM orders INDEXED BY nothing",
	"SELECT * FROM values",
	"INSERT INTO table DEFAULT VALUES",
	"DROP TABLE orders",
}

func newShops(t testing.TB) *guestBundle {
	b := newGuestBundle(t, sqlite.Config{})
	require.NoError(t, b.deploy(plain, shopSteps...))
	require.NoError(t, b.deploy(named, shopSteps...), "the same module in another namespace")
	return b
}

// try runs a statement in a namespace, and tells all that a module can see of it.
func (b *guestBundle) try(t testing.TB, namespace, query string, keep bool) string {
	tx, err := b.store.BeginGuest(b.ctx, namespace)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	var args []any
	if strings.Contains(query, "$1") {
		args = []any{int64(1)}
	}
	columns, rows, err := tx.Query(b.ctx, query, args)
	if err != nil {
		return fmt.Sprintf("%s: %s (%s)", abi.CodeOf(err), abi.AsError(err).Message, abi.AsError(err).Hint)
	}
	if keep {
		require.NoError(t, tx.Commit(b.ctx, b.startOf(namespace+query)))
	}
	return fmt.Sprintf("%q %v", columns, rows)
}

// contents are the rows of the shop's tables.
func (b *guestBundle) contents(t testing.TB, namespace string) string {
	var out strings.Builder
	for _, table := range []string{"orders", "items", "odder", "counts", "copies", "totals"} {
		fmt.Fprintf(&out, "%s: %s\n", table, b.try(t, namespace, "SELECT * FROM "+table+" ORDER BY 1, 2", false))
	}
	return out.String()
}

// A module sees the same in each namespace, down to the words of errors, and reaches nothing of the other.
func TestNamespacesAreAlike(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	require.Equal(t, b.contents(t, plain), b.contents(t, named))
	for _, query := range shopStatements {
		before := b.contents(t, named)
		want := b.try(t, plain, query, true)
		require.Equal(t, before, b.contents(t, named), "%s: of another namespace", query)
		after := b.contents(t, plain)
		require.Equal(t, want, b.try(t, named, query, true), query)
		require.Equal(t, after, b.contents(t, plain), "%s: of another namespace", query)
		require.Equal(t, after, b.contents(t, named), query)
	}
}

// The names under which tables are stored are for the store alone.
func TestStoredNamesAreRefused(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	for _, namespace := range []string{plain, named, "third"} {
		for _, name := range []string{
			"orders@staging", "secrets@theirs", "Secrets@THEIRS", "accounts@mine", "x@third", "secrets@theirs@staging",
		} {
			for _, form := range []string{
				"SELECT * FROM %s", "SELECT 1 IN %s", "INSERT INTO %s DEFAULT VALUES", "UPDATE %s SET id = 5",
				"DELETE FROM %s",
				"WITH x AS (SELECT * FROM %s) SELECT * FROM x", "SELECT * FROM main.%s",
				"SELECT (SELECT count(*) FROM %s)",
			} {
				if namespace == named && strings.HasPrefix(name, "orders@") {
					continue // its own
				}
				query := fmt.Sprintf(form, `"`+name+`"`)
				before := b.contents(t, named)
				got := b.try(t, namespace, query, true)
				require.Regexp(t, "^CR-[0-9]+: ", got, "%s in %s", query, namespace)
				require.NotContains(t, got, "hush")
				require.Equal(t, before, b.contents(t, named), "%s in %s", query, namespace)
			}
		}
		for _, form := range []string{
			"CREATE TABLE %s (id INT)", "CREATE VIEW %s AS SELECT 1",
			"CREATE TABLE fine (id INT); ALTER TABLE fine RENAME TO %s",
			"CREATE TABLE fine (id INT); CREATE INDEX %s ON fine (id)",
		} {
			err := b.deploy(namespace, fmt.Sprintf(form, `"fresh@staging"`))
			require.ErrorContains(
				t, err, `the name "fresh@staging" has a "@", which tells namespaces apart`, "%s in %s", form, namespace,
			)
		}
	}
}

// A store has tables of a namespace from before namespaces had names of their own. They go on as they are, beside new
// ones.
func TestTablesFromBefore(t *testing.T) {
	t.Parallel()
	b := newGuestBundle(t, sqlite.Config{})
	require.NoError(t, b.deploy(plain, "CREATE TABLE before (id INTEGER PRIMARY KEY); INSERT INTO before VALUES (1)"))
	require.NoError(t, b.store.GiveTable("before", named))
	require.Equal(t, `["id"] [[1]]`, b.try(t, named, "SELECT before.id FROM before", false))
	require.NoError(t, b.deploy(named, `CREATE TABLE after (id INTEGER PRIMARY KEY, b INT REFERENCES before (id));
		INSERT INTO after VALUES (2, 1); ALTER TABLE before ADD COLUMN n INT DEFAULT 3`))
	require.Equal(
		t, `["b" "n"] [[1 3]]`,
		b.try(t, named, "SELECT after.b, before.n FROM before JOIN after ON after.b = before.id", false),
	)
	require.Contains(t, b.try(t, plain, "SELECT * FROM before", false), "is not one of this namespace")
}
