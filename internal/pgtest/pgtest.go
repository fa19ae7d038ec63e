package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// EnvDSN names the environment variable with the connection string of a server to use instead of a private one. Its
// user must be a superuser.
const EnvDSN = "CRUSTER_TEST_POSTGRES"

var private struct {
	mu     sync.Mutex
	server *server // guarded by mu, like err
	err    error
}

// Main runs the tests of a package and then stops the private server. The result is for os.Exit.
func Main(m *testing.M) int {
	defer stop()
	code := m.Run()
	if err := dropEmptied(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return 1
	}
	return code
}

func stop() {
	private.mu.Lock()
	defer private.mu.Unlock()
	if private.server != nil {
		private.server.stop()
		private.server = nil
	}
}

// DSN is the connection string of the server, as a superuser.
func DSN(t testing.TB) string {
	t.Helper()
	if dsn := os.Getenv(EnvDSN); dsn != "" {
		return dsn
	}
	private.mu.Lock()
	defer private.mu.Unlock()
	if private.server == nil && private.err == nil {
		private.server, private.err = start()
	}
	if private.err != nil {
		t.Fatalf("pgtest: %v", private.err)
	}
	return private.server.dsn
}

// Schema makes up the name of a schema for one test. When the test ends the schema is dropped, with
// the schemas and roles of its guests (whose names begin with "NAME__").
func Schema(t testing.TB) string {
	t.Helper()
	schema, dsn := newName(), DSN(t)
	t.Cleanup(func() {
		if err := drop(context.Background(), dsn, schema); err != nil {
			t.Errorf("pgtest: drop schema %s: %v", schema, err)
		}
	})
	return schema
}

// newName is a name that nothing on the server has.
func newName() string {
	var b [6]byte
	rand.Read(b[:])
	return "t_" + hex.EncodeToString(b[:])
}

// Database makes a database for one test and returns its connection string. When the test ends it is dropped.
// A test that works on a whole database needs it: others create and drop their schemas in the shared one.
func Database(t testing.TB) string {
	t.Helper()
	name, dsn := newName(), DSN(t)
	if err := execute(dsn, `CREATE DATABASE `+name); err != nil {
		t.Fatalf("pgtest: create database %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := execute(dsn, `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("pgtest: drop database %s: %v", name, err)
		}
	})
	return inDatabase(t, dsn, name)
}

// inDatabase is the connection string of another database of a server.
func inDatabase(t testing.TB, dsn, name string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("pgtest: connection string: %v", err)
	}
	u.Path = "/" + name
	return u.String()
}

func execute(dsn, statement string) error {
	ctx := context.Background() // a busy disk takes minutes for a checkpoint, and to drop a database waits for one
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// drop drops a schema, with its guests.
func drop(ctx context.Context, dsn, schema string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := dropGuests(ctx, conn, schema); err != nil {
		return err
	}
	return dropSchema(ctx, conn, schema)
}

func dropSchema(ctx context.Context, conn *pgx.Conn, schema string) error {
	if _, err := conn.Exec(ctx, `DROP SCHEMA IF EXISTS `+pgx.Identifier{schema}.Sanitize()+` CASCADE`); err != nil {
		return fmt.Errorf("drop schema %s: %w", schema, err)
	}
	return nil
}

// dropGuests drops the schemas and roles of a schema's guests.
func dropGuests(ctx context.Context, conn *pgx.Conn, schema string) error {
	prefix := schema + "__"
	schemas, err := names(
		ctx, conn, `SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname::text, $1)`, prefix,
	)
	if err != nil {
		return err
	}
	for _, s := range schemas {
		if err := dropSchema(ctx, conn, s); err != nil {
			return err
		}
	}
	roles, err := names(ctx, conn, `SELECT rolname::text FROM pg_roles WHERE starts_with(rolname::text, $1)`, prefix)
	if err != nil {
		return err
	}
	for _, r := range roles {
		role := pgx.Identifier{r}.Sanitize()
		if _, err := conn.Exec(ctx, `DROP OWNED BY `+role+` CASCADE`); err != nil {
			return fmt.Errorf("drop what role %s owns: %w", r, err)
		}
		if _, err := conn.Exec(ctx, `DROP ROLE `+role); err != nil {
			return fmt.Errorf("drop role %s: %w", r, err)
		}
	}
	return nil
}

func names(ctx context.Context, conn *pgx.Conn, query string, args ...any) ([]string, error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
