package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/abi"
)

// Each namespace has a schema and a role of the same name. The role cannot log in, is a member of nothing, owns the
// schema and has no other right; tables of modules belong to it, because their migrations run under it.

// ensureNamespace makes the schema and role of a namespace if they are missing, in a transaction of its own.
func (s *Store) ensureNamespace(ctx context.Context, namespace string) error {
	s.mu.Lock()
	ready := s.ready[namespace]
	s.mu.Unlock()
	if ready {
		return nil
	}
	err := s.use(ctx, s.main, s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.createNamespace(ctx, tx, namespace) })
	})
	if err != nil {
		return fmt.Errorf("postgres: namespace %q: %w", namespace, err)
	}
	s.noteNamespace(namespace)
	return nil
}

// noteNamespace remembers that a namespace is there, once that is committed.
func (s *Store) noteNamespace(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready[namespace] = true
}

func (s *Store) createNamespace(ctx context.Context, tx pgx.Tx, namespace string) error {
	name := guestName(s.config.Schema, namespace)
	// One host at a time; another host waiting here finds it done.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockKey("namespace", name)); err != nil {
		return err
	}
	var hasRole, hasSchema, isMember bool
	err := tx.QueryRow(
		ctx,
		`SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1), EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
		COALESCE((SELECT pg_has_role(oid, 'MEMBER') FROM pg_roles WHERE rolname = $1), false)`,
		name,
	).Scan(&hasRole, &hasSchema, &isMember)
	if err != nil {
		return err
	}
	q := quote(name)
	if !hasRole {
		if err := createRole(ctx, tx, q); err != nil {
			return privilege(err, "create role "+name, "CREATE ROLE "+q+" NOLOGIN")
		}
	}
	if !isMember {
		// A superuser is a member of every role already; other users become one.
		var super bool
		if err := tx.QueryRow(ctx, `SELECT rolsuper FROM pg_roles WHERE rolname = current_user`).Scan(
			&super,
		); err != nil {
			return err
		}
		if !super {
			if _, err := tx.Exec(ctx, `GRANT `+q+` TO CURRENT_USER`); err != nil {
				return privilege(err, "become role "+name, "GRANT "+q+" TO the database user of Cruster")
			}
		}
	}
	if !hasSchema {
		if _, err := tx.Exec(ctx, `CREATE SCHEMA `+q+` AUTHORIZATION `+q); err != nil {
			return privilege(err, "create schema "+name, "CREATE SCHEMA "+q+" AUTHORIZATION "+q)
		}
	}
	return s.revokePublicCreate(ctx, tx, name)
}

// createRole survives that a host on another database of the same server makes the role at the same moment: roles
// belong to the server, locks to a database.
func createRole(ctx context.Context, tx pgx.Tx, quoted string) error {
	err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(
			ctx, `CREATE ROLE `+quoted+` NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOINHERIT`,
		)
		return err
	})
	if state := sqlState(err); state == stateDuplicateObject || state == stateUniqueViolation {
		return nil
	}
	return err
}

// revokePublicCreate revokes the right of all roles to create things in the schema public, as Postgres itself does
// since version 15. Without that a module could leave tables there that others find by accident.
func (s *Store) revokePublicCreate(ctx context.Context, tx pgx.Tx, role string) error {
	var open bool
	err := tx.QueryRow(
		ctx,
		`SELECT COALESCE((SELECT has_schema_privilege($1, oid, 'CREATE') FROM pg_namespace
			WHERE nspname = 'public'), false)`,
		role,
	).Scan(&open)
	if err != nil || !open {
		return err
	}
	err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
		return err
	})
	if err != nil {
		s.config.Logger.WarnContext(ctx, "all roles may create tables in the schema public, modules too",
			"store", "postgres", "run", "REVOKE CREATE ON SCHEMA public FROM PUBLIC", "error", err)
		return nil
	}
	s.config.Logger.InfoContext(
		ctx, "revoked the right of all roles to create tables in the schema public", "store", "postgres",
	)
	return nil
}

// privilege explains the missing privilege of a database user.
func privilege(err error, what, run string) error {
	if sqlState(err) != statePrivilege {
		return err
	}
	return errors.Join(abi.Errorf(abi.CodeStorePrivilege, "the database user may not %s: %v", what, err).
		WithHint("Run as a superuser: %s;", run), err)
}

// confineSQL sets the bounds of a guest for the rest of a transaction: where names are looked up, how long a statement
// may take, and how long the server waits for a host that has gone away.
const confineSQL = `SELECT set_config('search_path', $1, true), set_config('statement_timeout', $2, true),
	set_config('idle_in_transaction_session_timeout', $3, true)`

// searchPath lets unqualified names mean the guest's own tables. Naming pg_temp last keeps temporary tables from being
// found first.
func searchPath(name string) string { return quote(name) + ", pg_temp" }

// whoAmI cannot be fooled by names: current_user is a keyword.
const whoAmI = `SELECT current_user`

// setRole is the statement that changes to a role for the rest of a transaction; "" is the connected user.
func setRole(role string) string {
	if role == "" {
		return `SET LOCAL ROLE NONE`
	}
	return `SET LOCAL ROLE ` + quote(role)
}

// queueRaw appends a statement without parameters, unprepared.
func queueRaw(b *pgconn.Batch, sql string) { b.ExecParams(sql, nil, nil, nil, nil) }

// refused is the answer to a statement that left its role.
func refused(user string) error {
	return abi.Errorf(abi.CodeSQLForbidden, "the statement changed its role to %q and was undone", user)
}
