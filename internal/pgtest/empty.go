package pgtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Empty resets the schema of a store to its initial state: without rows, with shards that were
// never claimed, and with guests that have no tables. It does nothing if there is no store yet.
// Tests that go through many stores one after the other need one schema then: to make and drop one
// takes longer than most of the tests themselves.
func Empty(t testing.TB, schema string) {
	t.Helper()
	ctx, dsn := context.Background(), DSN(t) // the test may be over, and its cleanups at work
	conn, err := pgx.Connect(ctx, dsn)
	if err == nil {
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, fmt.Sprintf(emptyAll, schema))
	}
	if err != nil {
		t.Fatalf("pgtest: empty schema %s: %v", schema, err)
	}
}

// emptyAll is filled in with the name of a schema, which [Schema] has made up.
const emptyAll = `DO $$
DECLARE
	name text;
BEGIN
	PERFORM set_config('session_replication_role', 'replica', true); -- rows that others refer to go first or last
	FOR name IN SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables WHERE starts_with(schemaname::text,
		'%[1]s__') LOOP
		EXECUTE 'DROP TABLE IF EXISTS ' || name || ' CASCADE';
	END LOOP;
	FOR name IN SELECT format('%%I.%%I', schemaname, tablename) FROM pg_tables
		WHERE schemaname = '%[1]s' AND tablename NOT IN ('goose_db_version', 'heartbeat', 'shards') LOOP
		EXECUTE 'DELETE FROM ' || name;
	END LOOP;
	IF to_regclass('%[1]s.shards') IS NOT NULL THEN
		UPDATE %[1]s.shards SET epoch = 0, token = decode(repeat('00', 16), 'hex'), owner = '' WHERE epoch > 0;
	END IF;
END $$`
