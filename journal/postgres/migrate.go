package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/migrations"
)

// migrate brings the schema up to date. An advisory lock of the session lets
// hosts that start together do so one after the other.
func migrate(ctx context.Context, base *pgx.ConnConfig, c *Config) error {
	conn, err := pgx.ConnectConfig(ctx, base.Copy())
	if err != nil {
		return noConnection(err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // and with it goes the lock
	if err := inTime(ctx, c.CallLimit, func(ctx context.Context) error { return checkPrivileges(ctx, conn) }); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, lockKey("migrate", c.Schema)); err != nil {
		return fmt.Errorf("postgres: wait for other hosts that migrate: %w", err)
	}
	// Not CREATE IF NOT EXISTS: that asks for the right even if there is nothing
	// to create.
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, c.Schema).Scan(&exists); err != nil {
		return fmt.Errorf("postgres: look for schema %s: %w", c.Schema, err)
	}
	if !exists {
		if _, err := conn.Exec(ctx, `CREATE SCHEMA `+quote(c.Schema)); err != nil {
			return beforeCommit("postgres: create schema "+c.Schema, err)
		}
	}
	steps, err := migrations.Steps(migrations.Postgres)
	if err != nil {
		return err
	}
	cfg := base.Copy()
	cfg.RuntimeParams["search_path"] = quote(c.Schema)
	db := stdlib.OpenDB(*cfg)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, nil, goose.WithGoMigrations(steps...),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("postgres: read migrations: %w", err)
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return beforeCommit("postgres: migrate schema "+c.Schema, err)
	}
	for _, step := range applied {
		c.Logger.InfoContext(ctx, "migration applied", "store", "postgres", "schema", c.Schema, "step", step.Source.Version, "took", step.Duration)
	}
	return nil
}

// checkPrivileges says at the start what would otherwise fail at the first
// deployment: guests need roles and schemas of their own.
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
			WithHint("Run as an owner of the database: GRANT CREATE ON DATABASE %s TO %s;", quote(database), quote(user))
	}
	if !roles {
		return abi.Errorf(abi.CodeStorePrivilege, "user %q may not create roles, which confine the SQL of modules", user).
			WithHint("Run as a superuser: ALTER ROLE %s CREATEROLE;", quote(user))
	}
	return nil
}
