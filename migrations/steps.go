package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// Steps are the migrations in a folder of files, as goose applies them, each in a transaction of its own, unless it
// says that it has none. A file is sent to the database as a whole: goose would take it apart into statements, which
// takes longer than to run them, every time that a store is opened.
func Steps(files fs.FS) ([]*goose.Migration, error) {
	names, err := fs.Glob(files, "*/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]*goose.Migration, 0, len(names))
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migrations: %s: %w", name, err)
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		up, err := upOf(string(content))
		if err != nil {
			return nil, fmt.Errorf("migrations: %s: %w", name, err)
		}
		apply := &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error { return execAll(ctx, tx, name, up) }}
		if strings.Contains(string(content), "-- +goose NO TRANSACTION\n") {
			apply = &goose.GoFunc{
				RunDB: func(ctx context.Context, db *sql.DB) error { return oneByOne(ctx, db, name, up) },
			}
		}
		steps = append(steps, goose.NewGoMigration(version, apply, nil))
	}
	return steps, nil
}

// Latest is the version of the last step.
func Latest(steps []*goose.Migration) (version int64) {
	for _, step := range steps {
		version = max(version, step.Version)
	}
	return version
}

type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func execAll(ctx context.Context, db executor, name, statements string) error {
	if _, err := db.ExecContext(ctx, statements); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// oneByOne runs the statements of a file outside of a transaction, on one connection. Each ends at the end
// of a line.
func oneByOne(ctx context.Context, db *sql.DB, name, statements string) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for statement := range strings.SplitSeq(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := execAll(ctx, conn, name, statement); err != nil {
			return err
		}
	}
	return nil
}

// upOf is the part of a file that brings a schema up to date.
func upOf(content string) (string, error) {
	_, up, found := strings.Cut(content, "-- +goose Up\n")
	if !found {
		return "", fmt.Errorf("it has no line %q", "-- +goose Up")
	}
	up, _, _ = strings.Cut(up, "-- +goose Down\n")
	return up, nil
}
