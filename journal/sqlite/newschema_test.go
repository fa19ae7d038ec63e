package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/migrations"
)

// TestNewSchema: the script for new stores equals the steps, to the rows and the order of tables and indexes,
// by which SQLite chooses between plans of the same cost.
func TestNewSchema(t *testing.T) {
	t.Parallel()
	created, migrated := filepath.Join(t.TempDir(), FileName), filepath.Join(t.TempDir(), FileName)
	s := &Store{}
	require.NoError(t, s.openWriter(t.Context(), created))
	require.NoError(t, s.writer.Close())
	require.NoError(t, migrate(t.Context(), migrated, stepsOfSQLite(t)))
	require.Equal(t, contentOf(t, migrated), contentOf(t, created))
}

// TestUnfinishedSchema: a program that made a store step by step was killed at the first one.
func TestUnfinishedSchema(t *testing.T) {
	t.Parallel()
	killed := errors.New("killed")
	first := goose.NewGoMigration(1, &goose.GoFunc{RunTx: func(context.Context, *sql.Tx) error { return killed }}, nil)
	path := filepath.Join(t.TempDir(), FileName)
	require.ErrorIs(t, migrate(t.Context(), path, []*goose.Migration{first}), killed)
	store, err := Open(t.Context(), Config{Dir: filepath.Dir(path)})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	found, known := contentOf(t, path)["table "+versionTable], migrations.Latest(stepsOfSQLite(t))
	require.Len(t, found, int(known)+1)
}

func stepsOfSQLite(t *testing.T) []*goose.Migration {
	t.Helper()
	steps, err := migrations.Steps(migrations.SQLite)
	require.NoError(t, err)
	return steps
}

// contentOf is all that a database holds: its schema, settings and rows, without the times of steps.
func contentOf(t *testing.T, path string) map[string][]string {
	t.Helper()
	conn, err := openConn(path, "")
	require.NoError(t, err)
	defer conn.Close()
	query := func(query string) (rows []string) {
		require.NoError(t, runOnce(conn, query, nil, func(row *sqlite.Stmt) error {
			values := make([]string, 0, row.ColumnCount())
			for column := range row.ColumnCount() {
				if name := row.ColumnName(column); name != "tstamp" {
					values = append(
						values, fmt.Sprintf("%s %v %q", name, row.ColumnType(column), textOf(row.ColumnText(column))),
					)
				}
			}
			rows = append(rows, strings.Join(values, ", "))
			return nil
		}))
		return rows
	}
	content := map[string][]string{
		"schema": query("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"),
	}
	for _, setting := range []string{
		"application_id", "auto_vacuum", "encoding", "journal_mode", "page_size", "user_version",
	} {
		content[setting] = query("PRAGMA " + setting)
	}
	var tables []string
	require.NoError(
		t,
		runOnce(conn, "SELECT name FROM sqlite_schema WHERE type = 'table'", nil, func(row *sqlite.Stmt) error {
			tables = append(tables, row.ColumnText(0))
			return nil
		}),
	)
	for _, table := range tables {
		content["table "+table] = query("SELECT * FROM " + table)
	}
	return content
}

var (
	comments = regexp.MustCompile(`--[^\n]*`)
	blanks   = regexp.MustCompile(`\s+`)
)

// textOf is a definition without its comments and line breaks, and without the spaces and quotes that ALTER TABLE
// leaves.
func textOf(definition string) string {
	definition = blanks.ReplaceAllString(comments.ReplaceAllString(definition, ""), " ")
	return strings.NewReplacer(" ,", ",", "( ", "(", " )", ")", `"`, "").Replace(definition)
}
