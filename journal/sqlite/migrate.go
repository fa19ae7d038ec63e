package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite/guestsql"
)

// migrateGuest applies the migrations of a deployment that were not applied before, in the transaction that is open.
// The sandbox's owners are brought up to date; the caller restores them if the transaction does not commit.
func (s *Store) migrateGuest(ctx context.Context, d *journal.Deployment, steps []abi.Migration) error {
	steps = slices.DeleteFunc(slices.Clone(steps), func(m abi.Migration) bool {
		return m.Dialect != abi.DialectAny && m.Dialect != abi.DialectSQLite
	})
	slices.SortStableFunc(steps, func(a, b abi.Migration) int { return cmp.Compare(a.Version, b.Version) })
	applied, err := appliedMigrations(s.writer, d)
	if err != nil {
		return err
	}
	changed := false
	for i, step := range steps {
		if i > 0 && steps[i-1].Version == step.Version {
			return abi.Errorf(
				abi.CodeMigrationFailed, "migration %d of deployment %q is there twice", step.Version, d.Name,
			)
		}
		sum := sha256.Sum256([]byte(step.SQL))
		checksum := hex.EncodeToString(sum[:])
		if old, ok := applied[step.Version]; ok {
			if old != checksum {
				return abi.Errorf(
					abi.CodeMigrationFailed, "migration %d (%s) of deployment %q was applied before with another text",
					step.Version, step.Name, d.Name,
				).
					WithHint("An applied migration never changes: put the change into a new one.")
			}
			continue
		}
		if err := s.applyMigration(ctx, d, &step); errors.Is(err, journal.ErrConflict) {
			return err
		} else if err != nil {
			reason := abi.AsError(err).Message
			if !strings.Contains(reason, "already exists") && !strings.Contains(reason, "that another migration made") {
				return abi.Errorf(
					abi.CodeMigrationFailed, "migration %d (%s) of deployment %q: %s", step.Version, step.Name, d.Name,
					reason,
				)
			}
			by, err := takenBy(s.writer, d, checksum)
			if err != nil {
				return err
			}
			return journal.NameTaken(d, &step, reason, by)
		}
		if err := recordMigration(s.writer, d, step.Version, checksum); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return nil
	}
	if err := s.checkForeignKeys(d.Namespace); err != nil {
		return err
	}
	if err := s.checkViews(ctx, d.Namespace, true); err != nil {
		return err
	}
	return s.recordOwners(d.Namespace)
}

// takenBy finds the deployment of the namespace that has applied a migration of the same text.
func takenBy(conn *sqlite.Conn, d *journal.Deployment, checksum string) (by string, err error) {
	err = run(
		conn,
		`SELECT deployment FROM cruster_guest_migrations WHERE namespace = ?1 AND deployment <> ?2 AND checksum = ?3
		ORDER BY deployment LIMIT 1`,
		func(stmt *sqlite.Stmt) {
			stmt.BindText(1, d.Namespace)
			stmt.BindText(2, d.Name)
			stmt.BindText(3, checksum)
		},
		func(row *sqlite.Stmt) error {
			by = row.ColumnText(0)
			return nil
		},
	)
	return by, err
}

func appliedMigrations(conn *sqlite.Conn, d *journal.Deployment) (map[int64]string, error) {
	applied := map[int64]string{}
	err := run(
		conn,
		"SELECT version, checksum FROM cruster_guest_migrations WHERE namespace = ?1 AND deployment = ?2",
		func(stmt *sqlite.Stmt) {
			stmt.BindText(1, d.Namespace)
			stmt.BindText(2, d.Name)
		},
		func(row *sqlite.Stmt) error {
			applied[row.ColumnInt64(0)] = row.ColumnText(1)
			return nil
		},
	)
	return applied, err
}

func recordMigration(conn *sqlite.Conn, d *journal.Deployment, version int64, checksum string) error {
	return run(
		conn,
		"INSERT INTO cruster_guest_migrations (namespace, deployment, version, checksum) VALUES (?1, ?2, ?3, ?4)",
		func(stmt *sqlite.Stmt) {
			stmt.BindText(1, d.Namespace)
			stmt.BindText(2, d.Name)
			stmt.BindInt64(3, version)
			stmt.BindText(4, checksum)
		},
		nil,
	)
}

// applyMigration runs the statements of one migration.
func (s *Store) applyMigration(ctx context.Context, d *journal.Deployment, step *abi.Migration) error {
	rest := guestsql.SkipBlank(step.SQL, true)
	for rest != "" {
		before, err := schemaNames(s.writer)
		if err != nil {
			return err
		}
		if rest, err = s.migrationStatement(ctx, d.Namespace, rest); err != nil {
			return err
		}
		if s.writer.AutocommitEnabled() {
			return abi.Errorf(abi.CodeSQLForbidden, "a statement rolled the transaction back")
		}
		after, err := schemaNames(s.writer)
		if err != nil {
			return err
		}
		if err := s.sandbox.Adopt(d.Namespace, before, after); err != nil {
			return err
		}
	}
	return nil
}

// migrationStatement runs the first statement of sql and returns the rest.
func (s *Store) migrationStatement(ctx context.Context, namespace, sql string) (rest string, err error) {
	mode, err := guestsql.CheckMigration(sql)
	if err != nil {
		return "", err
	}
	s.writer.SetInterrupt(ctx.Done())
	defer s.writer.SetInterrupt(nil)
	if mode == guestsql.Alteration {
		if err := s.checkViews(ctx, namespace, false); err != nil {
			return "", err
		}
	}
	defer s.sandbox.Enter(mode, namespace, ctx.Done())()
	renamed := s.sandbox.Rename(sql).Text
	stmt, trailing, err := s.writer.PrepareTransient(renamed)
	if err != nil {
		return "", s.guestError(err)
	}
	defer func() { _ = stmt.Finalize() }()
	text, trail := sql[:len(sql)-trailing], sql[len(sql)-trailing:]
	if mode != guestsql.Rows {
		if err := guestsql.CheckDefinition(text); err != nil {
			return "", err
		}
	}
	if err := s.sandbox.Bound(renamed[:len(renamed)-trailing]); err != nil {
		return "", s.guestError(err)
	}
	if err := bindArgs(stmt, nil); err != nil {
		return "", err
	}
	for {
		more, err := stmt.Step()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err != nil {
			return "", s.guestError(err)
		}
		if !more {
			return guestsql.SkipBlank(trail, true), nil
		}
	}
}

// schemaNames lists tables and views (true) and other things (false) by their names in lower case.
func schemaNames(conn *sqlite.Conn) (map[string]bool, error) {
	names := map[string]bool{}
	err := run(conn, "SELECT name, type IN ('table', 'view') FROM sqlite_schema", nil, func(row *sqlite.Stmt) error {
		names[guestsql.Fold(row.ColumnText(0))] = row.ColumnBool(1)
		return nil
	})
	return names, err
}

// checkForeignKeys refuses references to tables of others: declared against a column that is not unique, one would make
// every deletion there fail.
func (s *Store) checkForeignKeys(namespace string) error {
	for table, owner := range s.sandbox.Owners() {
		if owner != namespace {
			continue
		}
		err := run(s.writer, `SELECT "table" FROM pragma_foreign_key_list(?1)`, func(stmt *sqlite.Stmt) {
			stmt.BindText(1, table)
		}, func(row *sqlite.Stmt) error {
			target := guestsql.Fold(row.ColumnText(0))
			if owner, known := s.sandbox.Owners()[target]; !known || owner != namespace {
				return abi.Errorf(abi.CodeMigrationFailed, "%s",
					s.sandbox.Called(fmt.Sprintf(
						"table %q references %q, which is not a table of this namespace", table, target,
					)))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkViews refuses unusable views of the namespace: views that expand to too much, and, if broken
// says so, views that lack a part.
//
// SQLite looks at a view when it is used, not when it is made. But it looks at all views of the
// file in each ALTER, without asking the authorizer and without a bound on their expansion: one
// view would keep each namespace from altering its tables, or the store from everything.
func (s *Store) checkViews(ctx context.Context, namespace string, broken bool) error {
	var views []string
	err := run(s.writer, "SELECT name FROM sqlite_schema WHERE type = 'view'", nil, func(row *sqlite.Stmt) error {
		if s.sandbox.Owners()[guestsql.Fold(row.ColumnText(0))] == namespace {
			views = append(views, row.ColumnText(0))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, view := range views {
		err := s.checkView(ctx, namespace, view)
		if code := abi.CodeOf(err); code == abi.CodeSQLForbidden || broken && code == abi.CodeSQL {
			return abi.Errorf(abi.CodeMigrationFailed, "view %q: %s", s.sandbox.Called(view), abi.AsError(err).Message)
		} else if err != nil && code != abi.CodeSQL {
			return err
		}
	}
	return nil
}

func (s *Store) checkView(ctx context.Context, namespace, view string) error {
	defer s.sandbox.Enter(guestsql.Rows, namespace, ctx.Done())()
	stmt, _, err := s.writer.PrepareTransient(s.sandbox.UseOf(view))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return s.guestError(err)
	}
	return stmt.Finalize()
}

func (s *Store) recordOwners(namespace string) error {
	err := run(s.writer, "DELETE FROM cruster_guest_tables WHERE namespace = ?1", func(stmt *sqlite.Stmt) {
		stmt.BindText(1, namespace)
	}, nil)
	if err != nil {
		return err
	}
	for table, owner := range s.sandbox.Owners() {
		if owner != namespace {
			continue
		}
		err := run(
			s.writer,
			"INSERT INTO cruster_guest_tables (name, namespace) VALUES (?1, ?2)",
			func(stmt *sqlite.Stmt) {
				stmt.BindText(1, table)
				stmt.BindText(2, namespace)
			},
			nil,
		)
		if err != nil {
			return fmt.Errorf("table %q: %w", table, err)
		}
	}
	return nil
}
