package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal/sqlite"
)

// Invalid SQL is refused in each namespace, and stops nothing else.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	for _, sql := range []string{
		"UPDATE OR", "SELECT update or", "WITH x AS (UPDATE OR", "SELECT 1\x00" + strings.Repeat(" FROM orders", 10),
		"SELECT 1 /* \x00 */" + strings.Repeat(" FROM orders", 10),
		"SELECT 1 -- \x00\n" + strings.Repeat(" FROM orders", 10),
	} {
		require.Equal(t, b.try(t, plain, sql, false), b.try(t, named, sql, false), "%q", sql)
		require.Error(t, b.deploy(plain, sql), "%q", sql)
		require.Error(t, b.deploy(named, sql), "%q", sql)
	}
}

// SQLite does not compile the text behind a zero byte. Its look must not hide a part of the
// statement from the check of definitions.
func TestZeroByteHidesNothing(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	for tables := range 4 {
		for pad := range 30 {
			err := b.deploy(
				named,
				"CREATE TABLE leak AS SELECT name, 'SELECT 1; --"+strings.Repeat("x", pad)+
					"' AS x FROM sqlite_schema\x00"+
					strings.Repeat(" FROM orders", tables),
			)
			require.ErrorContains(t, err, `names with "sqlite_" are not for modules`)
		}
	}
}

// SQLite bounds the length of a statement, not of all the statements of a migration.
func TestLongMigrationInEachNamespace(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	rows := strings.Repeat("INSERT INTO long VALUES ('"+strings.Repeat("x", 10_000)+"');", 30)
	for _, namespace := range []string{plain, named} {
		require.NoError(t, b.deploy(namespace, "CREATE TABLE long (body TEXT);"+rows))
		require.Equal(t, `["count(*)"] [[30]]`, b.try(t, namespace, "SELECT count(*) FROM long", false))
		require.Error(t, b.deploy(namespace, "INSERT INTO long VALUES ('"+strings.Repeat("x", 256<<10)+"')"))
	}
}

// SQLite folds the letters of ASCII only. A table with another spelling is another table, and its
// references are looked at.
func TestNamesThatUnicodeFolds(t *testing.T) {
	t.Parallel()
	const kelvin = "\u212a"
	b := newShops(t)
	err := b.deploy(plain, `CREATE TABLE "`+kelvin+`id" (id INT REFERENCES "secrets@theirs" (text))`)
	require.ErrorContains(t, err, "which is not a table of this namespace")
	require.Equal(t, `["id"] [[1]]`, b.try(t, "theirs", "DELETE FROM secrets RETURNING id", false))
	for _, namespace := range []string{plain, named} {
		require.NoError(
			t,
			b.deploy(
				namespace,
				"CREATE TABLE tasks (id INT); CREATE TABLE tas"+kelvin+"s (id INT); CREATE TABLE Äpfel (id INT);"+
					"INSERT INTO tas"+kelvin+"s VALUES (7); INSERT INTO Äpfel VALUES (8)",
			),
		)
		require.Equal(
			t, `["id" "id"] [[7 8]]`,
			b.try(t, namespace, "SELECT tas"+kelvin+"s.id, Äpfel.id FROM tas"+kelvin+"s, Äpfel", false),
		)
		require.Equal(t, `["id"] []`, b.try(t, namespace, "SELECT id FROM TASKS", false))
		require.Contains(t, b.try(t, namespace, "SELECT id FROM äpfel", false), "no such table: äpfel")
	}
}

// A store from before has names in lower case by Unicode.
func TestNamesThatWereFoldedByUnicode(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	require.NoError(t, b.deploy(plain, "CREATE TABLE Äpfel (id INT)"))
	require.NoError(t, b.store.RecordAs("Äpfel", "äpfel"))
	require.NoError(t, b.store.Close())
	again := open(t, sqlite.Config{Dir: b.dir, GuestTxLimit: time.Hour})
	b.store = again
	require.Equal(t, `["id"] []`, b.try(t, plain, "SELECT id FROM Äpfel", false))
}

// SQLite looks at all views of the file when a table is altered. An unusable view would be in the
// way of each namespace.
func TestViewsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	var doubling strings.Builder
	doubling.WriteString("CREATE VIEW v0 AS SELECT 1 AS x;")
	for i := range 30 {
		fmt.Fprintf(&doubling, "CREATE VIEW v%d AS SELECT a.x FROM v%d a, v%d b;", i+1, i, i)
	}
	for sql, want := range map[string]string{
		"CREATE VIEW bad AS SELECT * FROM nowhere":      `view "bad": SQL logic error: no such table: main.nowhere`,
		"CREATE VIEW bad AS SELECT none(1)":             `view "bad": `,
		`CREATE VIEW bad AS SELECT * FROM "vault@mine"`: `view "bad": `,
		"CREATE TABLE a (id INT); CREATE VIEW bad AS SELECT id FROM a; DROP TABLE a": `view "bad": ` +
			"SQL logic error: no such table: main.a",
		doubling.String(): `view "v1`,
		doubling.String() + "CREATE TABLE a (id INT); ALTER TABLE a RENAME TO b": "it expands to too many parts",
	} {
		for _, namespace := range []string{plain, "mine"} {
			require.ErrorContains(t, b.deploy(namespace, sql), want, "%.60s", sql)
		}
	}
	require.NoError(t, b.deploy(named, `CREATE TABLE a (id INT); CREATE VIEW v AS SELECT id FROM a; DROP TABLE a;
		ALTER TABLE copies ADD COLUMN d INT; CREATE TABLE a (id INT)`), "in the end it can")
	require.NoError(t, b.deploy(named, "ALTER TABLE copies RENAME TO copied; ALTER TABLE copied RENAME COLUMN c TO e"))
}
