package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

const storeUsage = "where to keep everything: sqlite:DIR or postgres://USER@HOST/DATABASE"

// A storeSpec is what --store names.
type storeSpec struct {
	dialect string
	// dir of the embedded store, dsn and schema of Postgres
	dir, dsn, schema string
}

func parseStore(text, schema string) (storeSpec, error) {
	if dir, ok := strings.CutPrefix(text, "sqlite:"); ok && dir != "" {
		return storeSpec{dialect: abi.DialectSQLite, dir: dir}, nil
	}
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		return storeSpec{dialect: abi.DialectPostgres, dsn: text, schema: schema}, nil
	}
	if text == "" {
		return storeSpec{}, usagef("--store is missing: it says %s", storeUsage)
	}
	// The text may hold a password: it is not repeated.
	return storeSpec{}, usagef("--store is not understood: it says %s", storeUsage)
}

// open opens the store and brings its schema up to date.
func (s storeSpec) open(ctx context.Context, log *slog.Logger) (journal.Store, error) {
	var store journal.Store
	var err error
	if s.dialect == abi.DialectSQLite {
		store, err = sqlite.Open(ctx, sqlite.Config{Dir: s.dir, Logger: log})
	} else {
		store, err = postgres.Open(ctx, postgres.Config{DSN: s.dsn, Schema: s.schema, Logger: log})
	}
	if err == nil {
		return store, nil
	}
	var coded *abi.Error
	var file *fs.PathError
	switch {
	case errors.As(err, &coded):
		return nil, err
	case errors.Is(err, journal.ErrInUse):
		return nil, abi.Errorf(abi.CodeStoreInUse, "another process uses the store in %s", s.dir)
	case errors.As(err, &file):
		return nil, abi.Errorf(abi.CodeBadConfig, "the store does not open: %v", err).WithHint("Choose a folder that this user may write to, with --data-dir (dev) or --store (serve).")
	default:
		return nil, abi.Errorf(abi.CodeStore, "the store does not open: %v", err)
	}
}
