package serve

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

// StoreUsage describes the values of --store.
const StoreUsage = "where to keep everything: sqlite:DIR or postgres://USER@HOST/DATABASE"

// A StoreSpec is the store that --store names; make one with [ParseStore].
type StoreSpec struct {
	// AcceptLostLog opens an embedded store whose log is missing.
	AcceptLostLog bool
	// Dialect is abi.DialectSQLite or abi.DialectPostgres.
	Dialect string
	// dir of the embedded store, dsn and schema of Postgres
	dir, dsn, schema string
}

const embedded = "sqlite:"

// ParseStore parses the values of --store and --schema.
func ParseStore(text, schema string) (StoreSpec, error) {
	if dir, ok := strings.CutPrefix(text, embedded); ok && dir != "" {
		return StoreSpec{Dialect: abi.DialectSQLite, dir: dir}, nil
	}
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		return StoreSpec{Dialect: abi.DialectPostgres, dsn: text, schema: schema}, nil
	}
	if text == "" {
		return StoreSpec{}, usage.Errorf("--store is missing: it says %s", StoreUsage)
	}
	// The text may hold a password: it is not repeated.
	return StoreSpec{}, usage.Errorf("--store is not understood: it says %s", StoreUsage)
}

// String names the store for people, without possible secrets.
func (s StoreSpec) String() string {
	if s.Dialect == abi.DialectPostgres {
		return "postgres, schema " + s.schema
	}
	if abs, err := filepath.Abs(s.dir); err == nil {
		return abs
	}
	return s.dir
}

// StartCommand is the command that starts a host on the store. It does not show how Postgres is reached: there may be
// a password in it.
func (s StoreSpec) StartCommand() string {
	switch {
	case s.Dialect == abi.DialectPostgres:
		return "cruster-host serve --store postgres://…"
	case s.dir == "" || s.dir == "cruster-data":
		return "cruster-host dev"
	}
	return "cruster-host dev --data-dir " + terminal.QuoteWord(s.dir)
}

// Open opens the store and brings its schema up to date.
func (s StoreSpec) Open(ctx context.Context, log *slog.Logger) (journal.Store, error) {
	var store journal.Store
	var err error
	if s.Dialect == abi.DialectSQLite {
		store, err = sqlite.Open(ctx, sqlite.Config{AcceptLostLog: s.AcceptLostLog, Dir: s.dir, Logger: log})
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
		return nil, abi.Errorf(abi.CodeBadConfig, "the store does not open: %v", err).
			WithHint("Choose a folder that this user may write to, with --data-dir (dev) or --store (serve).")
	default:
		return nil, journal.CodedAtStart("the store does not open", err)
	}
}
