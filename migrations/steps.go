package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// Steps are the migrations in a folder of files, as goose applies them, each in a transaction of its own. A file is
// sent to the database as a whole: goose would take it apart into statements, which takes longer than
// to run them, every time that a store is opened.
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
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, up); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}}, nil))
	}
	return steps, nil
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
