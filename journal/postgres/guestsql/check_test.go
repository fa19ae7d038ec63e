package guestsql_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal/postgres/guestsql"
)

var allowed = []string{
	"SELECT 1",
	"select id, owner from accounts where id = $1;",
	" -- why\n SELECT 1 -- what",
	"/* ; set_config */ SELECT ';' AS s, 'it''s', \"odd \"\"name\"\"\" FROM t ; -- done",
	"(SELECT 1) UNION (SELECT 2)",
	"INSERT INTO t (a) VALUES ($1), ($2) ON CONFLICT (a) DO UPDATE SET a = excluded.a RETURNING a",
	"INSERT OR REPLACE INTO t VALUES (1)",
	"REPLACE INTO t VALUES (1)",
	"WITH x AS (INSERT INTO t VALUES (1) RETURNING a) INSERT INTO u SELECT a FROM x",
	"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
	"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a",
	"UPDATE t SET a = a + 1.5e3, b = 0x1F, c = .5 WHERE d = 1_000",
	"DELETE FROM t USING u WHERE t.id = u.id",
	"VALUES (1), (2)",
	"TABLE t",
	"SELECT $tag$ ; ' \" set_config $other$ $tag$ AS s",
	"SELECT $$x$$ || E'a\\\\b\\n' || 'c:\\dir'",
	"SELECT lo_price, ts_stat FROM prices WHERE note LIKE 'pg_%'",
	"SELECT current_setting('TimeZone'), pg_typeof(a), now(), gen_random_uuid() FROM t",
	"SELECT a::text, a->>'k', b @> '{}', ARRAY[1,2][1] FROM t",
	"SELECT * FROM t WHERE ключ = '日本' FOR UPDATE SKIP LOCKED",
	"SELECT x.into_account FROM transfers x",
	"SELECT :name, ?1, @p",
	"SELECT 'U&\"x\"', u & 1 FROM t",
	"-- windows\r\nSELECT 1\r\n",
}

// hostile holds statements that must be refused, by the reason.
var hostile = map[string][]string{
	"no statement": {"", " ", ";", ";;", "-- nothing", "/* nothing */"},
	"one at a time": {
		"SELECT 1; SELECT 2", "SELECT 1; COMMIT", "SELECT 1;; DROP TABLE t", "SELECT 1 /* */ ; /* */ RESET ROLE",
		"SELECT '\\'; RESET ROLE; --'", "SELECT $a$ $a$; RESET ROLE", "SELECT \"a\"\"b\"; RESET ROLE",
	},
	"cannot begin with": {
		"RESET ROLE", "SET ROLE postgres", "SET LOCAL ROLE postgres", "SET SESSION AUTHORIZATION postgres",
		"BEGIN", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT a", "RELEASE a", "PREPARE TRANSACTION 'x'",
		"/* x */ commit", "-- x\nrollback", "(COMMIT)", "((", "'SELECT'", "\"select\" 1",
		"PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE ALL", "DECLARE c CURSOR FOR SELECT 1", "FETCH c", "CLOSE c",
		"COPY t TO STDOUT", "COPY t FROM PROGRAM 'id'", "DO $$BEGIN END$$", "CALL p()", "EXPLAIN ANALYZE DELETE FROM t",
		"LISTEN c", "NOTIFY c", "UNLISTEN *", "LOCK TABLE t", "TRUNCATE t", "VACUUM", "ANALYZE", "DISCARD ALL",
		"SHOW ALL",
		"CREATE TABLE t (a int)", "CREATE TEMP TABLE t (a int)", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS ''",
		"CREATE EXTENSION dblink", "ALTER ROLE x SUPERUSER", "DROP TABLE t", "GRANT ALL ON t TO PUBLIC",
		"REVOKE ALL ON t FROM x",
		"COMMENT ON TABLE t IS 'x'", "LOAD 'x'", "CHECKPOINT", "REINDEX TABLE t", "IMPORT FOREIGN SCHEMA x",
		"SECURITY LABEL ON TABLE t IS ''",
		"PRAGMA journal_mode = OFF", "ATTACH 'x' AS y", "DETACH x", "\\copy t", "$1",
	},
	"is not available to modules": {
		"SELECT set_config('role', 'postgres', true)",
		"SELECT SET_CONFIG /* hidden */ ('role', 'none', false)",
		"SELECT \"set_config\"('role', 'none', false)",
		"SELECT t.* FROM t, LATERAL set_config('role','none',false)",
		"SELECT pg_catalog.set_config('role', 'none', false)",
		"SELECT query_to_xml('RESET ROLE', true, true, '')",
		"SELECT query_to_xml_and_xmlschema('x', true, true, '')",
		"SELECT table_to_xml('x', true, true, ''), schema_to_xml('x', true, true, '')",
		"SELECT database_to_xml_and_xmlschema(true, true, '')",
		"SELECT cursor_to_xmlschema('x', true, true, '')",
		"SELECT ts_stat('SELECT 1')", "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')",
		"SELECT dblink('x', 'y')", "SELECT dblink_connect('x')", "SELECT * FROM crosstab('SELECT 1')",
		"SELECT pg_sleep(1)", "SELECT pg_advisory_lock(1)", "SELECT pg_try_advisory_xact_lock(1)",
		"SELECT pg_notify('a', 'b')", "SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('/')",
		"SELECT pg_terminate_backend(1)", "SELECT pg_cancel_backend(1)", "SELECT pg_reload_conf()",
		"SELECT lo_import('/etc/passwd')", "SELECT lo_create(0)", "SELECT loread(1, 1)", "SELECT lowrite(1, '')",
		"SELECT * FROM pg_authid", "SELECT * FROM pg_roles", "SELECT * FROM \"pg_shadow\"",
		"SELECT * FROM pg_stat_activity",
		"SELECT * FROM pg_catalog.pg_class", "SELECT inet_server_addr()", "SELECT txid_current()",
		"SELECT load_extension('x')", "SELECT readfile('x')",
		"SELECT * FROM cruster.executions", "SELECT * FROM \"cruster\" . executions",
		"SELECT * FROM CRUSTER /**/ . entries",
		"DELETE FROM cruster.entries", "SELECT * FROM cruster__other.t", "SELECT * FROM cruster_executions",
		"SELECT * FROM information_schema.tables", "SELECT public.f()",
		"WITH x AS (SELECT set_config('a','b',true)) SELECT 1",
	},
	"INTO": {
		"SELECT 1 INTO t", "SELECT * INTO TEMP x FROM t", "WITH a AS (SELECT 1) SELECT * INTO t FROM a",
		"SELECT 1 AS insert INTO t", "SELECT 1 insert INTO t", "SELECT a, insert INTO t FROM u",
	},
	"not closed": {
		"SELECT 'a", "SELECT \"a", "SELECT $$a", "SELECT $t$ a $T$", "SELECT /* a", "SELECT E'a\\\\", "SELECT E'a\\",
		"SELECT 'a''", "SELECT \"a\"\"",
	},
	"comments within comments": {"SELECT 1 /* /* */ , set_config('a','b',true) /* */ */"},
	"carriage return":          {"SELECT 1 -- x\r; RESET ROLE"},
	"U& escapes": {
		`SELECT U&"\0073et_config"('a','b',true)`, `SELECT u&'\0061'`, `SELECT * FROM U&"pg\005fauthid"`,
	},
	"backticks":         {"SELECT `a` FROM t"},
	"write ''":          {`SELECT E'\' ; RESET ROLE; --'`},
	"write them as one": {"SELECT E'a'\n'b\\'' , set_config('a','b',true) --'"},
	"unreadable": {
		"SELECT 1e5set_config('a')", "SELECT 1set_config('a')", "SELECT $1set_config('a')", "SELECT 0x1Fset_config",
	},
	"dollar sign": {"SELECT $", "SELECT $name", "SELECT a $ b"},
	"UTF-8":       {"SELECT '\x00'", "SELECT '\xff'"},
	"longer than": {"SELECT '" + strings.Repeat("x", guestsql.MaxLen) + "'"},
}

func TestCheckStatementAllows(t *testing.T) {
	t.Parallel()
	for _, sql := range allowed {
		require.NoError(t, guestsql.CheckStatement(sql), sql)
	}
}

func TestCheckStatementRefuses(t *testing.T) {
	t.Parallel()
	for reason, statements := range hostile {
		for _, sql := range statements {
			err := guestsql.CheckStatement(sql)
			require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), "%.200s", sql)
			require.ErrorContains(t, err, reason, "%.200s", sql)
		}
	}
}

func TestSplitMigration(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql  string
		want []string
	}{
		"empty":         {"", nil},
		"comments only": {"-- a;\n/* b; */ ;;", nil},
		"one":           {" CREATE TABLE t (a int) ", []string{"CREATE TABLE t (a int)"}},
		"several": {
			"CREATE TABLE t (a text DEFAULT ';'); -- first;\nINSERT INTO t VALUES ('a;b'), ($$c;d$$);\n\n/* ; */ DROP " +
				"TABLE \"x;y\"",
			[]string{
				"CREATE TABLE t (a text DEFAULT ';')", "INSERT INTO t VALUES ('a;b'), ($$c;d$$)", "DROP TABLE \"x;y\"",
			},
		},
		"comments inside stay": {
			"SELECT /* a */ 1 -- b\n, 2; SELECT 3", []string{"SELECT /* a */ 1 -- b\n, 2", "SELECT 3"},
		},
	} {
		got, err := guestsql.SplitMigration(c.sql)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	for _, sql := range []string{"SELECT 'a; SELECT 1", "/* SELECT 1;", "SELECT \"a; SELECT 1"} {
		_, err := guestsql.SplitMigration(sql)
		require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), sql)
	}
}

func TestCheckMigration(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"CREATE TABLE t (id BIGINT PRIMARY KEY, owner TEXT)",
		"CREATE TABLE IF NOT EXISTS t AS SELECT 1 AS a",
		"CREATE UNIQUE INDEX i ON t (lower(a)) WHERE b IS NULL",
		"CREATE OR REPLACE VIEW v AS SELECT 1 AS a",
		"CREATE MATERIALIZED VIEW v AS SELECT 1 AS a",
		"CREATE SEQUENCE s", "CREATE TYPE mood AS ENUM ('a', 'b')", "CREATE TYPE pair AS (a int, b int)",
		"ALTER TABLE t ADD COLUMN owner TEXT", "ALTER TYPE mood ADD VALUE 'c'", "ALTER SEQUENCE s RESTART",
		"DROP TABLE IF EXISTS t", "DROP VIEW v", "DROP INDEX i", "DROP MATERIALIZED VIEW v", "DROP TYPE mood",
		"COMMENT ON TABLE t IS 'x'",
		"INSERT INTO t VALUES (1)", "UPDATE t SET a = 1", "DELETE FROM t", "SELECT setval('s', 5)",
		"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
	} {
		require.NoError(t, guestsql.CheckMigration(sql), sql)
	}
	for _, sql := range []string{
		"", "SELECT 1; SELECT 2",
		"CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS ''",
		"CREATE PROCEDURE p() LANGUAGE sql AS ''", "CREATE TRIGGER x BEFORE INSERT ON t EXECUTE FUNCTION f()",
		"CREATE RULE r AS ON INSERT TO t DO NOTHING", "CREATE EXTENSION dblink", "CREATE SCHEMA s", "CREATE ROLE r",
		"CREATE USER u", "CREATE DATABASE d",
		"CREATE TEMP TABLE t (a int)", "CREATE TEMPORARY VIEW v AS SELECT 1", "CREATE FOREIGN TABLE t (a int) SERVER s",
		"CREATE SERVER s FOREIGN DATA WRAPPER w",
		"CREATE VIRTUAL TABLE t USING fts5(a)", "CREATE DOMAIN d AS int", "CREATE OPERATOR + (FUNCTION = f)",
		"CREATE CAST (a AS b) WITH FUNCTION f", "CREATE AGGREGATE a (x)",
		"CREATE TYPE t (INPUT = a, OUTPUT = b)", "CREATE TYPE r AS RANGE (SUBTYPE = int)",
		"CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
		"CREATE PUBLICATION p", "CREATE POLICY p ON t", "CREATE", "CREATE OR REPLACE", "CREATE \"table\" t",
		"ALTER ROLE r SUPERUSER", "ALTER SYSTEM SET a = 1", "ALTER DATABASE d SET a = 1", "ALTER SCHEMA s RENAME TO x",
		"ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO x",
		"DROP SCHEMA s CASCADE", "DROP ROLE r", "DROP OWNED BY x", "DROP FUNCTION f",
		"GRANT ALL ON t TO PUBLIC", "REVOKE ALL ON t FROM x", "SET ROLE x", "RESET ROLE", "COMMIT", "DO $$ $$",
		"COPY t FROM STDIN", "TRUNCATE t", "LOCK TABLE t", "CALL p()",
		"CREATE INDEX CONCURRENTLY i ON t (a)", "DROP INDEX CONCURRENTLY i",
		"CREATE VIEW v AS SELECT query_to_xml('x', true, true, '')",
		"CREATE TABLE t (a text DEFAULT set_config('role','none',false))",
		"CREATE VIEW v AS SELECT * FROM cruster.executions", "CREATE TABLE public.t (a int)",
		"CREATE TABLE cruster_mine (a int)", "ALTER TABLE t RENAME TO cruster_x",
		"SELECT * INTO t FROM u", "CREATE TABLE t AS SELECT * FROM pg_authid",
	} {
		err := guestsql.CheckMigration(sql)
		require.Equal(t, abi.CodeSQLForbidden, abi.CodeOf(err), sql)
	}
}

func FuzzCheckStatement(f *testing.F) {
	for _, sql := range allowed {
		f.Add(sql)
	}
	for _, statements := range hostile {
		for _, sql := range statements {
			if len(sql) < 1000 {
				f.Add(sql)
			}
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		err := guestsql.CheckStatement(sql)
		if err != nil && abi.CodeOf(err) != abi.CodeSQLForbidden {
			t.Fatalf("%q: an error without its code: %v", sql, err)
		}
		parts, splitErr := guestsql.SplitMigration(sql)
		if err == nil && (splitErr != nil || len(parts) != 1) {
			t.Fatalf("%q: passed as one statement, but splits into %q, %v", sql, parts, splitErr)
		}
		for _, part := range parts {
			again, err := guestsql.SplitMigration(part)
			if err != nil || len(again) != 1 || again[0] != part {
				t.Fatalf("%q: statement %q splits again into %q, %v", sql, part, again, err)
			}
			_ = guestsql.CheckMigration(part)
		}
	})
}

// TestMisspelt: a text that is no statement at all is not said to be forbidden.
func TestMisspelt(t *testing.T) {
	t.Parallel()
	err := abi.AsError(guestsql.CheckStatement("INSRT INTO t VALUES (1)"))
	require.Equal(t, `a statement cannot begin with INSRT; did you mean "insert"?`, err.Message)
	require.Equal(t, "Correct the statement.", err.Hint)
}
