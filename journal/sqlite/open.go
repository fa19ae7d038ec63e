package sqlite

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite" // that goose migrates with
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite/guestsql"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
	"github.com/cruster/cruster/migrations"
)

// Config configures a Store.
type Config struct {
	// AcceptLostLog opens a database whose log is missing, and with it whatever was committed last.
	AcceptLostLog bool
	// Clock measures how long transactions of modules are open. Defaults to the real clock.
	Clock clockwork.Clock
	// Dir is the data folder; it is made if it is missing. Required.
	Dir string
	// GuestTxGrace is how long a transaction of a module may make the journal wait before it is rolled back, to be
	// repeated; then it has twice the time. Defaults to 250 ms.
	GuestTxGrace time.Duration
	// GuestTxLimit is how long a transaction of a module may be open at all. Defaults to 2 s.
	GuestTxLimit time.Duration
	// MigrationLimit is how long the migrations of one deployment may hold the writer, for which the
	// journal waits. Defaults to 10 s.
	MigrationLimit time.Duration
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// MaxReaders is the number of read handles. Defaults to 4.
	MaxReaders int
}

// FileName is the name of the database in the data folder.
const FileName = "cruster.db"

// versionTable is where goose counts the migrations of Cruster itself.
const versionTable = "cruster_schema_version"

// Store is a journal.Store in a SQLite file.
type Store struct {
	*reader
	*sqlsweep.Sweeper

	config     Config
	lock       *os.File
	writer     *sqlite.Conn      // used only by the user that acquired it from queue
	sandbox    *guestsql.Sandbox // the authorizer of writer; used like it
	mail       mail              // used like writer
	queue      writerQueue
	log        *checkpointer
	readers    chan *sqlite.Conn
	commits    atomic.Uint64
	diskFailed atomic.Bool // the disk failed the last commit
	files      files       // are where they were

	closing   chan struct{}
	closeOnce sync.Once
	closeErr  error
}

var _ journal.Store = (*Store)(nil)

var errClosed = errors.New("sqlite: the store is closed")

// Open opens the store of a data folder, or makes it, and brings its schema up to date. If another process has it open
// the error is journal.ErrInUse.
func Open(ctx context.Context, config Config) (*Store, error) {
	if config.Dir == "" {
		return nil, abi.Errorf(abi.CodeBadConfig, "the embedded store needs a data folder")
	}
	if config.Clock == nil {
		config.Clock = clockwork.NewRealClock()
	}
	if config.GuestTxGrace <= 0 {
		config.GuestTxGrace = 250 * time.Millisecond
	}
	if config.GuestTxLimit <= 0 {
		config.GuestTxLimit = 2 * time.Second
	}
	if config.MigrationLimit <= 0 {
		config.MigrationLimit = 10 * time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.MaxReaders <= 0 {
		config.MaxReaders = 4
	}
	if err := makeFolder(config.Dir); err != nil {
		return nil, fmt.Errorf("sqlite: make data folder: %w", err)
	}
	lock, err := lockDir(config.Dir)
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", config.Dir, err)
	}
	s := &Store{
		config:  config,
		lock:    lock,
		queue:   writerQueue{clock: config.Clock, grace: config.GuestTxGrace},
		readers: make(chan *sqlite.Conn, config.MaxReaders),
		closing: make(chan struct{}),
	}
	s.Sweeper = sqlsweep.New(swept{s}, sweepFailed)
	s.reader = sqlread.New(database{s}, reads)
	if err := s.open(ctx, filepath.Join(config.Dir, FileName)); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: open %s: %w", config.Dir, err), s.closeHandles())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, path string) error {
	if !s.config.AcceptLostLog {
		if err := checkLog(path); err != nil {
			return err
		}
	}
	if err := s.openWriter(ctx, path); err != nil {
		return err
	}
	writer := s.writer
	for range s.config.MaxReaders {
		reader, err := openConn(path, "PRAGMA query_only = ON")
		if err != nil {
			return err
		}
		s.readers <- reader
	}
	if err := checkShards(writer); err != nil {
		return err
	}
	err := markOpen(writer)
	if err != nil {
		return err
	}
	if s.log, err = newCheckpointer(path); err != nil {
		return err
	}
	if err := s.files.watch(path); err != nil {
		return err
	}
	if s.mail.position, err = lastPosition(writer); err != nil {
		return fmt.Errorf("inboxes: %w", err)
	}
	owners, err := guestTables(writer)
	if err != nil {
		return err
	}
	s.sandbox, err = guestsql.Install(writer, owners, journal.DefaultNamespace)
	return err
}

// openWriter opens the handle that writes, and brings the schema up to date. It is opened first: the
// migrating handle must not be the last to be closed, for then the log goes. See logmark.go.
func (s *Store) openWriter(ctx context.Context, path string) (err error) {
	steps, err := migrations.Steps(migrations.SQLite)
	if err != nil {
		return err
	}
	if s.writer, err = openConn(path, "", sqlite.OpenCreate); err != nil {
		return err
	}
	found, err := schemaVersion(s.writer)
	if err != nil {
		return err
	}
	switch known := migrations.Latest(steps); {
	case found == noSchema:
		err = classify(sqlitex.ExecuteScript(s.writer, migrations.SQLiteSchema, nil))
	case found > known:
		return journal.SchemaNewer(found, known)
	case found < known:
		err = migrate(ctx, path, steps)
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// noSchema is the version of a store that no step was applied to. Without its first step a schema has version 0.
const noSchema = -1

// schemaVersion is the version of the schema.
func schemaVersion(conn *sqlite.Conn) (version int64, err error) {
	var there bool
	err = runOnce(
		conn,
		"SELECT count(*) FROM sqlite_schema WHERE name = '"+versionTable+"'",
		nil,
		func(row *sqlite.Stmt) error {
			there = row.ColumnBool(0)
			return nil
		},
	)
	if err != nil || !there {
		return noSchema, err
	}
	err = runOnce(
		conn,
		"SELECT max(version_id) FROM "+versionTable+" WHERE is_applied",
		nil,
		func(row *sqlite.Stmt) error {
			version = row.ColumnInt64(0)
			return nil
		},
	)
	return version, err
}

// guestTables tells the namespace of each table and view that modules made.
func guestTables(conn *sqlite.Conn) (map[string]string, error) {
	owners := map[string]string{}
	err := run(conn, "SELECT name, namespace FROM cruster_guest_tables", nil, func(row *sqlite.Stmt) error {
		owners[row.ColumnText(0)] = row.ColumnText(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tables of modules: %w", err)
	}
	// Names were recorded in lower case by Unicode, which is not how SQLite compares them.
	err = run(
		conn,
		"SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')",
		nil,
		func(row *sqlite.Stmt) error {
			name, recorded := guestsql.Fold(row.ColumnText(0)), strings.ToLower(row.ColumnText(0))
			if _, known := owners[name]; known || recorded == name {
				return nil
			}
			if owner, known := owners[recorded]; known {
				owners[name] = owner
				delete(owners, recorded)
			}
			return nil
		},
	)
	if err != nil {
		return nil, fmt.Errorf("tables of modules: %w", err)
	}
	return owners, nil
}

// migrationFunctions gives the driver that migrates the functions that steps need beyond SQL. The handles of a store
// are of another driver.
var migrationFunctions = sync.OnceValue(func() error {
	return driver.RegisterDeterministicScalarFunction(
		"cruster_origin_of_deferred",
		1,
		func(_ *driver.FunctionContext, args []sqldriver.Value) (sqldriver.Value, error) {
			name, is := args[0].(string)
			if !is {
				return nil, fmt.Errorf("the name of a deferred is a %T", args[0])
			}
			origin := journal.OriginOfDeferred(name)
			return origin[:], nil
		},
	)
})

func migrate(ctx context.Context, path string, steps []*goose.Migration) (err error) {
	if err := migrationFunctions(); err != nil {
		return err
	}
	// The path goes through a URI here: a '?' in it must not start parameters.
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(
		goose.DialectSQLite3, db, nil, goose.WithGoMigrations(steps...), goose.WithTableName(versionTable),
		goose.WithDisableGlobalRegistry(true),
	)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// busyTimeout is how long a handle waits for a lock of another process, such as a backup with SQLite's own tools.
const busyTimeout = 5 * time.Second

func openConn(path, setup string, flags ...sqlite.OpenFlags) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, append(flags, sqlite.OpenReadWrite, sqlite.OpenWAL)...)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(busyTimeout)
	for _, pragma := range []string{
		"PRAGMA synchronous = FULL",
		"PRAGMA foreign_keys = ON",
		fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", longestLog),
		// A large transaction leaves a large log behind: cut it down again.
		"PRAGMA journal_size_limit = 100000000",
		setup,
	} {
		if pragma == "" {
			continue
		}
		if err := run(conn, pragma, nil, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", pragma, err), conn.Close())
		}
	}
	return conn, nil
}

// checkShards refuses a store that was made with another number of shards: its keys would not be found.
func checkShards(conn *sqlite.Conn) error {
	var shards string
	err := run(conn, "SELECT value FROM cruster_meta WHERE name = 'shards'", nil, func(row *sqlite.Stmt) error {
		shards = row.ColumnText(0)
		return nil
	})
	if err != nil {
		return err
	}
	if shards != fmt.Sprint(journal.NumShards) {
		return abi.Errorf(
			abi.CodeBadConfig, "the store has %s shards, this host works with %d", shards, journal.NumShards,
		)
	}
	return nil
}

// Dialect implements journal.Store.
func (s *Store) Dialect() string { return abi.DialectSQLite }

// GuestsAlone implements journal.Store: there is one writer.
func (s *Store) GuestsAlone() bool { return true }

// Commits is how many transactions were committed since the store was opened: transactions of the journal and of
// modules.
func (s *Store) Commits() uint64 { return s.commits.Load() }

// Close rolls back open transactions and closes the store. It may be called more than once.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.queue.preemptGuest(errClosed)
		if err := s.queue.acquire(context.Background(), journalUser); err != nil {
			s.closeErr = err
			return
		}
		// The writer is never released: later users get errClosed.
		s.queue.shut(errClosed)
		s.closeErr = s.closeHandles()
	})
	return s.closeErr
}

func (s *Store) closeHandles() error {
	var errs []error
	readers := s.config.MaxReaders
	if s.sandbox == nil {
		readers = len(s.readers) // opening failed half-way
	}
	for range readers {
		errs = append(errs, (<-s.readers).Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.close())
	}
	if s.writer != nil {
		// Also of files that were moved away: the handle has them open, and copies its log into them.
		errs = append(errs, markClosed(s.writer), s.writer.Close())
	}
	return errors.Join(append(errs, s.lock.Close())...)
}
