package postgres

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/migrations"
)

// TestNewSchema: the script for new stores equals the steps, to the rows and the order of columns and indexes,
// by which the planner chooses between plans of the same cost.
func TestNewSchema(t *testing.T) {
	t.Parallel()
	steps, err := migrations.Steps(migrations.Postgres)
	require.NoError(t, err)
	// A database of its own: to make an index concurrently waits for all transactions in the shared one.
	config, err := Config{DSN: pgtest.Database(t), Logger: slog.New(slog.DiscardHandler)}.withDefaults()
	require.NoError(t, err)
	base, err := pgx.ParseConfig(config.DSN)
	require.NoError(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), base)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })

	created, migrated := config, config
	created.Schema, migrated.Schema = "created", "migrated"
	require.NoError(t, migrate(t.Context(), base, &created, migrations.Postgres))
	require.NoError(t, ownSchema(t.Context(), conn, migrated.Schema))
	require.NoError(t, applySteps(t.Context(), base, &migrated, steps))
	require.Equal(t, contentOf(t, conn, migrated.Schema), contentOf(t, conn, created.Schema))
}

// contentOf is all that a schema holds, without the times at which it was made. Nothing in it has the name of the
// schema.
func contentOf(t *testing.T, conn *pgx.Conn, schema string) map[string][]string {
	t.Helper()
	_, err := conn.Exec(t.Context(), "SET search_path = "+schema)
	require.NoError(t, err)
	query := func(query string, args ...any) []string {
		rows, err := conn.Query(t.Context(), query, args...)
		require.NoError(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		for i := range found {
			found[i] = strings.ReplaceAll(found[i], schema+".", "")
		}
		return found
	}
	content := map[string][]string{}
	for title, text := range schemaQueries {
		content[title] = query(text, schema)
		require.NotEmpty(t, content[title], title)
	}
	for _, table := range query("SELECT tablename::text FROM pg_tables WHERE schemaname = $1::text", schema) {
		content["rows of "+table] = query(
			"SELECT (to_jsonb(t) - '{at,claimed_at,tstamp}'::text[])::text FROM " + table + " AS t ORDER BY 1",
		)
	}
	return content
}

// schemaQueries list all kinds of objects in a schema, each kind with all its properties, as JSON.
var schemaQueries = map[string]string{
	"relations": `SELECT jsonb_build_array(c.relname, c.relkind, c.relpersistence, c.reloptions, t.reloptions,
		c.relreplident, c.relrowsecurity, c.relacl,
			obj_description(c.oid, 'pg_class'))::text
		FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.relnamespace = $1::text::regnamespace
			ORDER BY c.relname`,
	"columns": `SELECT jsonb_build_array(c.relname, row_number() OVER (PARTITION BY c.oid
		ORDER BY a.attnum), a.attname, format_type(a.atttypid, a.atttypmod),
			a.attnotnull, a.attidentity, a.attgenerated, a.attstorage, a.attcompression, a.attstattarget,
				a.attcollation::regcollation, a.attoptions, a.attacl,
			pg_get_expr(d.adbin, d.adrelid))::text
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid
			AND d.adnum = a.attnum
		WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attnum > 0
			AND NOT a.attisdropped ORDER BY c.relname, a.attnum`,
	"indexes": `SELECT jsonb_build_array(indrelid::regclass, row_number() OVER (PARTITION BY indrelid
		ORDER BY indexrelid), pg_get_indexdef(indexrelid),
			indisprimary, indisvalid, indisready, indisclustered, indisreplident)::text
		FROM pg_index WHERE indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = $1::text::regnamespace)
			ORDER BY 1`,
	"constraints": `SELECT jsonb_build_array(conrelid::regclass, conname, contype, convalidated,
		pg_get_constraintdef(oid))::text
		FROM pg_constraint WHERE connamespace = $1::text::regnamespace ORDER BY 1`,
	"functions": `SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = $1::text::regnamespace
		ORDER BY proname`,
	"sequences": `SELECT (to_jsonb(s) - 'schemaname')::text FROM pg_sequences s WHERE schemaname = $1::text
		ORDER BY sequencename`,
	"others": `SELECT jsonb_build_array((SELECT count(*) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
		WHERE relnamespace = $1::text::regnamespace AND NOT tgisinternal),
		(SELECT count(*) FROM pg_type WHERE typnamespace = $1::text::regnamespace AND typtype <> 'b'
			AND typtype <> 'c'),
		(SELECT count(*) FROM pg_policies WHERE schemaname = $1::text), (SELECT count(*) FROM pg_rules
			WHERE schemaname = $1::text),
		(SELECT count(*) FROM pg_statistic_ext WHERE stxnamespace = $1::text::regnamespace), (SELECT nspacl
			FROM pg_namespace WHERE nspname = $1::text))::text`,
}
