package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/migrations"
)

// lockWait is how long a step of a migration waits for a lock. Whatever comes behind it in the queue, such as the
// commits of a host at work, waits for as long.
const lockWait = 200 * time.Millisecond

// migrate brings the schema up to date. A schema that is needs nothing: neither locks nor the rights of
// its owner.
func migrate(ctx context.Context, base *pgx.ConnConfig, c *Config, files fs.FS) error {
	conn, err := pgx.ConnectConfig(ctx, base.Copy())
	if err != nil {
		return noConnection(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // and with it goes the lock
	if err := inTime(ctx, c.CallLimit, func(ctx context.Context) error {
		return checkPrivileges(ctx, conn)
	}); err != nil {
		return err
	}
	steps, err := migrations.Steps(files)
	if err != nil {
		return err
	}
	known := migrations.Latest(steps)
	if found, err := versionOf(ctx, conn, c, known); err != nil || found == known {
		return err
	}
	if err := lockMigration(ctx, conn, c); err != nil {
		return err
	}
	// Another host may have been faster, and may be a later version.
	found, err := versionOf(ctx, conn, c, known)
	if err != nil || found == known {
		return err
	}
	if err := ownSchema(ctx, conn, c.Schema); err != nil {
		return err
	}
	if found == noSchema {
		return createTables(ctx, conn, c, known)
	}
	return applySteps(ctx, base, c, steps)
}

// noSchema is the version of a schema that no step was applied to. Without its first step a schema has version 0.
const noSchema = -1

// versionOf is the version of the schema. It refuses a schema that is newer than the known one.
func versionOf(ctx context.Context, conn *pgx.Conn, c *Config, known int64) (found int64, err error) {
	var there bool
	table := quote(c.Schema) + ".goose_db_version"
	err = conn.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&there)
	if err == nil && there {
		err = conn.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+table+` WHERE is_applied`).Scan(&found)
	}
	switch {
	case err != nil:
		return 0, beforeCommit("postgres: read the version of schema "+c.Schema, err)
	case !there:
		return noSchema, nil
	case found > known:
		return 0, journal.SchemaNewer(found, known)
	}
	return found, nil
}

// lockMigration lets hosts that start together migrate one after the other. It does not wait inside of the server: a
// statement that waits has a snapshot, and to make an index beside other work waits for all snapshots.
func lockMigration(ctx context.Context, conn *pgx.Conn, c *Config) error {
	for {
		var locked bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, lockKey("migrate", c.Schema)).Scan(
			&locked,
		); err != nil {
			return fmt.Errorf("postgres: wait for other hosts that migrate: %w", err)
		}
		if locked {
			return nil
		}
		if err := pause(ctx, c); err != nil {
			return fmt.Errorf("postgres: wait for other hosts that migrate: %w", err)
		}
	}
}

// pause waits a little before something is tried again.
func pause(ctx context.Context, c *Config) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.Clock.After(lockWait / 2):
		return nil
	}
}

// ownSchema makes the schema, or refuses to change someone else's.
func ownSchema(ctx context.Context, conn *pgx.Conn, schema string) error {
	var user, owner string
	var owns bool
	err := conn.QueryRow(ctx, `SELECT current_user, pg_get_userbyid(nspowner), pg_has_role(nspowner, 'USAGE')
		FROM pg_namespace WHERE nspname = $1`, schema).
		Scan(&user, &owner, &owns)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		// Not CREATE IF NOT EXISTS: that asks for the right even if there is nothing to create.
		if _, err := conn.Exec(ctx, `CREATE SCHEMA `+quote(schema)); err != nil {
			return beforeCommit("postgres: create schema "+schema, err)
		}
	case err != nil:
		return fmt.Errorf("postgres: look for schema %s: %w", schema, err)
	case !owns:
		return abi.Errorf(
			abi.CodeStorePrivilege, "schema %q has to be migrated, and belongs to %q, not to user %q", schema, owner,
			user,
		).
			WithHint("Run 'cruster-host migrate --store …' once as %s.", owner)
	}
	return nil
}

// createTables fills the schema of a new store.
func createTables(ctx context.Context, conn *pgx.Conn, c *Config, version int64) error {
	begin := c.Clock.Now()
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SET LOCAL search_path = `+quote(c.Schema)+";\n"+migrations.PostgresSchema)
		return err
	})
	if err != nil {
		return beforeCommit("postgres: fill schema "+c.Schema, err)
	}
	c.Logger.InfoContext(
		ctx, "tables created", "store", "postgres", "schema", c.Schema, "step", version, "took", c.Clock.Since(begin),
	)
	return nil
}

// applySteps applies pending steps. A step that does not get its locks at once lets go of its place
// in the queue, and is tried again.
func applySteps(ctx context.Context, base *pgx.ConnConfig, c *Config, steps []*goose.Migration) error {
	cfg := base.Copy()
	cfg.RuntimeParams["search_path"] = quote(c.Schema)
	cfg.RuntimeParams["lock_timeout"] = strconv.FormatInt(lockWait.Milliseconds(), 10)
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, nil, goose.WithGoMigrations(steps...),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("postgres: read migrations: %w", err)
	}
	for begin := c.Clock.Now(); ; {
		applied, err := provider.Up(ctx)
		if partial := (*goose.PartialError)(nil); errors.As(err, &partial) {
			applied = partial.Applied
		}
		for _, step := range applied {
			c.Logger.InfoContext(ctx, "migration applied",
				"store", "postgres", "schema", c.Schema, "step", step.Source.Version, "took", step.Duration)
		}
		switch {
		case sqlState(err) != stateLockTimeout:
			return beforeCommit("postgres: migrate schema "+c.Schema, err)
		case c.Clock.Since(begin) > c.MigrateWait:
			return abi.Errorf(
				abi.CodeStore, "migrate schema %s: its tables were in use for %v: %v", c.Schema, c.MigrateWait, err,
			).
				WithHint("Look for long transactions in pg_stat_activity and end them, or stop the hosts on this " +
					"schema, and try again.")
		}
		if err := pause(ctx, c); err != nil {
			return err
		}
	}
}

// checkPrivileges reports at the start missing privileges that would otherwise fail the first deployment: guests need
// roles and schemas of their own.
func checkPrivileges(ctx context.Context, conn *pgx.Conn) error {
	var user, database string
	var roles, schemas bool
	err := conn.QueryRow(ctx, `SELECT current_user, current_database(), rolsuper OR rolcreaterole,
		has_database_privilege(current_database(), 'CREATE') FROM pg_roles WHERE rolname = current_user`).
		Scan(&user, &database, &roles, &schemas)
	if err != nil {
		return fmt.Errorf("postgres: read the rights of the database user: %w", err)
	}
	if !schemas {
		return abi.Errorf(abi.CodeStorePrivilege, "user %q may not create schemas in database %q", user, database).
			WithHint(
				"Run as an owner of the database: GRANT CREATE ON DATABASE %s TO %s;", quote(database), quote(user),
			)
	}
	if !roles {
		return abi.Errorf(
			abi.CodeStorePrivilege, "user %q may not create roles, which confine the SQL of modules", user,
		).
			WithHint("Run as a superuser: ALTER ROLE %s CREATEROLE;", quote(user))
	}
	return nil
}
