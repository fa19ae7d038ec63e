package sqlite_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is no SQL is refused in each namespace, and stops nothing else.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	for _, sql := range []string{
		"UPDATE OR", "SELECT update or", "WITH x AS (UPDATE OR", "SELECT 1\x00" + strings.Repeat(" FROM orders", 10),
		"SELECT 1 /* \x00 */" + strings.Repeat(" FROM orders", 10), "SELECT 1 -- \x00\n" + strings.Repeat(" FROM orders", 10),
	} {
		require.Equal(t, b.try(t, plain, sql, false), b.try(t, named, sql, false), "%q", sql)
		require.Error(t, b.deploy(plain, sql), "%q", sql)
		require.Error(t, b.deploy(named, sql), "%q", sql)
	}
}

// The text behind a zero byte is none that SQLite compiles. What it looks like must not hide a part of the statement from
// the check of definitions.
func TestZeroByteHidesNothing(t *testing.T) {
	t.Parallel()
	b := newShops(t)
	for tables := range 4 {
		for pad := range 30 {
			err := b.deploy(named, "CREATE TABLE leak AS SELECT name, 'SELECT 1; --"+strings.Repeat("x", pad)+"' AS x FROM sqlite_schema\x00"+
				strings.Repeat(" FROM orders", tables))
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
