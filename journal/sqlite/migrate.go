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
)

// migrateGuest applies the migrations of a deployment that were not applied
// before, in the transaction that is open. The sandbox's owners are brought up
// to date; the caller restores them if the transaction does not commit.
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
			return abi.Errorf(abi.CodeMigrationFailed, "migration %d of deployment %q is there twice", step.Version, d.Name)
		}
		sum := sha256.Sum256([]byte(step.SQL))
		checksum := hex.EncodeToString(sum[:])
		if old, ok := applied[step.Version]; ok {
			if old != checksum {
				return abi.Errorf(abi.CodeMigrationFailed, "migration %d (%s) of deployment %q was applied before with another text", step.Version, step.Name, d.Name).
					WithHint("An applied migration never changes: put the change into a new one.")
			}
			continue
		}
		if err := s.applyMigration(ctx, d, &step); errors.Is(err, journal.ErrConflict) {
			return err
		} else if err != nil {
			return abi.Errorf(abi.CodeMigrationFailed, "migration %d (%s) of deployment %q: %s", step.Version, step.Name, d.Name, abi.AsError(err).Message)
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
	return s.recordOwners(d.Namespace)
}

func appliedMigrations(conn *sqlite.Conn, d *journal.Deployment) (map[int64]string, error) {
	applied := map[int64]string{}
	err := run(conn, "SELECT version, checksum FROM cruster_guest_migrations WHERE namespace = ?1 AND deployment = ?2", func(stmt *sqlite.Stmt) {
		stmt.BindText(1, d.Namespace)
		stmt.BindText(2, d.Name)
	}, func(row *sqlite.Stmt) error {
		applied[row.ColumnInt64(0)] = row.ColumnText(1)
		return nil
	})
	return applied, err
}

func recordMigration(conn *sqlite.Conn, d *journal.Deployment, version int64, checksum string) error {
	return run(conn, "INSERT INTO cruster_guest_migrations (namespace, deployment, version, checksum) VALUES (?1, ?2, ?3, ?4)", func(stmt *sqlite.Stmt) {
		stmt.BindText(1, d.Namespace)
		stmt.BindText(2, d.Name)
		stmt.BindInt64(3, version)
		stmt.BindText(4, checksum)
	}, nil)
}

// applyMigration runs the statements of one migration.
func (s *Store) applyMigration(ctx context.Context, d *journal.Deployment, step *abi.Migration) error {
	rest := skipBlank(step.SQL, true)
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
		if err := s.sandbox.adopt(d.Namespace, before, after); err != nil {
			return err
		}
	}
	return nil
}

// migrationStatement runs the first statement of sql and returns what follows.
func (s *Store) migrationStatement(ctx context.Context, namespace, sql string) (rest string, err error) {
	mode, err := checkMigration(sql)
	if err != nil {
		return "", err
	}
	s.writer.SetInterrupt(ctx.Done())
	defer s.writer.SetInterrupt(nil)
	defer s.sandbox.enter(mode, namespace, sql, ctx.Done())()
	stmt, trailing, err := s.writer.PrepareTransient(sql)
	if err != nil {
		return "", s.guestError(err)
	}
	defer func() { _ = stmt.Finalize() }()
	text := sql[:len(sql)-trailing]
	if mode != guestDML {
		if len(text) > guestMaxDDL {
			return "", abi.Errorf(abi.CodeSQLForbidden, "a definition has %d bytes, and %d are allowed", len(text), guestMaxDDL)
		}
		if err := checkDDL(text); err != nil {
			return "", err
		}
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
			return skipBlank(sql[len(sql)-trailing:], true), nil
		}
	}
}

func checkMigration(sql string) (sandboxMode, error) {
	switch word := firstWord(sql); {
	case isDML(word):
		return guestDML, nil
	case word == "CREATE", word == "DROP":
		return guestDDL, nil
	case word == "ALTER":
		return guestAlter, nil
	default:
		return 0, abi.Errorf(abi.CodeSQLForbidden, "%q is not the beginning of a statement that migrations may use", word)
	}
}

// checkDDL refuses definitions that name tables of SQLite or Cruster. The
// authorizer cannot tell such a name from what SQLite itself does to its schema
// tables, and is not asked about the body of a view at all. SQLite's
// identifiers have no escapes, so a name that is used stands in the text.
func checkDDL(text string) error {
	lower := strings.ToLower(text)
	for _, word := range []string{"cruster_", "sqlite_", "goose", "pragma_"} {
		if strings.Contains(lower, word) {
			return abi.Errorf(abi.CodeSQLForbidden, "names with %q are not for modules", word)
		}
	}
	return nil
}

// schemaNames lists tables and views (true) and other things (false) by their
// names in lower case.
func schemaNames(conn *sqlite.Conn) (map[string]bool, error) {
	names := map[string]bool{}
	err := run(conn, "SELECT name, type IN ('table', 'view') FROM sqlite_schema", nil, func(row *sqlite.Stmt) error {
		names[strings.ToLower(row.ColumnText(0))] = row.ColumnBool(1)
		return nil
	})
	return names, err
}

// adopt gives the tables that a statement made to the namespace, and forgets
// those it dropped or renamed. It looks at what became of the schema rather
// than at the statement: there is no spelling to get around it.
func (b *sandbox) adopt(namespace string, before, after map[string]bool) error {
	for name, isTable := range after {
		if _, old := before[name]; old || strings.HasPrefix(name, "sqlite_") {
			continue
		}
		if isReserved(name) {
			return abi.Errorf(abi.CodeSQLForbidden, "the name %q is reserved", name)
		}
		if isTable {
			b.owners[name] = namespace
		}
	}
	for name := range before {
		if _, still := after[name]; still {
			continue
		}
		if isReserved(name) && !strings.HasPrefix(name, "sqlite_") {
			return abi.Errorf(abi.CodeSQLForbidden, "the name %q is reserved", name)
		}
		delete(b.owners, name)
	}
	return nil
}

// checkForeignKeys refuses references to tables of others: declared against a
// column that is not unique, one would make every deletion there fail.
func (s *Store) checkForeignKeys(namespace string) error {
	for table, owner := range s.sandbox.owners {
		if owner != namespace {
			continue
		}
		err := run(s.writer, `SELECT "table" FROM pragma_foreign_key_list(?1)`, func(stmt *sqlite.Stmt) {
			stmt.BindText(1, table)
		}, func(row *sqlite.Stmt) error {
			target := strings.ToLower(row.ColumnText(0))
			if owner, known := s.sandbox.owners[target]; !known || owner != namespace {
				return abi.Errorf(abi.CodeMigrationFailed, "table %q references %q, which is not a table of this namespace", table, target)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) recordOwners(namespace string) error {
	err := run(s.writer, "DELETE FROM cruster_guest_tables WHERE namespace = ?1", func(stmt *sqlite.Stmt) {
		stmt.BindText(1, namespace)
	}, nil)
	if err != nil {
		return err
	}
	for table, owner := range s.sandbox.owners {
		if owner != namespace {
			continue
		}
		err := run(s.writer, "INSERT INTO cruster_guest_tables (name, namespace) VALUES (?1, ?2)", func(stmt *sqlite.Stmt) {
			stmt.BindText(1, table)
			stmt.BindText(2, namespace)
		}, nil)
		if err != nil {
			return fmt.Errorf("table %q: %w", table, err)
		}
	}
	return nil
}
