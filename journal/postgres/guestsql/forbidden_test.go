package guestsql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForbiddenNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"pg_sleep", "pg_catalog", "set_config", "cruster_shards", "query_to_xml", "table_to_xml_and_xmlschema",
	} {
		require.True(t, forbiddenName(name), name)
	}
	for _, name := range []string{"pg_typeof", "pg", "config", "cruster", "to_xml", "orders"} {
		require.False(t, forbiddenName(name), name)
	}
}

// The name of a forbidden function may be a column's.
func TestForbiddenCalls(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"dblink_exec", "lo_import", "txid_current", "ts_stat", "readfile", "binary_upgrade_x",
	} {
		require.True(t, forbiddenCall(name), name)
		require.False(t, forbiddenName(name), name)
	}
	for _, name := range []string{"count", "lower", "log", "now", "jsonb_agg"} {
		require.False(t, forbiddenCall(name), name)
	}
}

func TestForeignSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cruster", "information_schema", "public"} {
		require.True(t, foreignSchema(name), name)
	}
	require.False(t, foreignSchema("t"))
}
