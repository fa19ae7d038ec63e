package journal

import (
	"context"

	"github.com/cruster/cruster/abi"
)

// Store is the full contract of a store: it keeps everything that must survive the host. All methods are safe for
// concurrent use. Reads see every commit that was acknowledged before.
//
// Stores implement it and package storetest tests it. Code that uses a store asks for the part that it needs: one of
// the interfaces below, or one of its own.
type Store interface {
	BatchCommitter
	EarlierReader
	EntityReader
	ExecutionReader
	GuestSQL
	InboxReader
	LockReader
	Maintenance
	ModuleStore
	ParkedReader
	PublishedReader
	ScheduleStore
	ShardClaimer
}

// ShardClaimer hands out the ownership of shards.
type ShardClaimer interface {
	// ClaimShards makes owner the owner of all shards: every epoch rises by one, and the claim draws a token, in one
	// transaction. It returns the new fences by shard. Writes that name another fail with ErrFenced from then on.
	ClaimShards(ctx context.Context, owner string) ([]Fence, error)
}

// ExecutionReader reads executions and their records.
type ExecutionReader interface {
	EntryReader
	// Load reads an execution with its input and its value, which may have several MiB each; ErrNotFound if there is
	// none.
	Load(ctx context.Context, id ID) (*Execution, error)
	// Brief is Load of a brief row: see [Execution.Brief]. Fields that it leaves out are not read.
	Brief(ctx context.Context, id ID) (*Execution, error)
	// BriefRun is FindRun of a brief row.
	BriefRun(ctx context.Context, id ID, run RunID) (*Execution, error)
	// FindRun reads the run of an execution by its id, or by its chain; also a superseded one.
	// ErrNotFound if there is none.
	FindRun(ctx context.Context, id ID, run RunID) (*Execution, error)
	// Hibernated reads the saved state of a run's guest; ErrNotFound if there is none.
	Hibernated(ctx context.Context, run RunKey) (*Hibernated, error)
	// Callee finds the execution that a step started, or found and linked, also if its run was
	// superseded since, as a brief row. ErrNotFound says that there is none, ErrSwept that it was deleted.
	Callee(ctx context.Context, step Caller) (*Execution, error)
	// Children lists the executions that steps of a run have started and that are not over, in the order of their ids,
	// at most limit, that come behind after: without inputs and results.
	Children(ctx context.Context, run RunID, after ID, limit int) ([]Execution, error)
	// Due lists running executions with WakeAt at or before until, earliest first, at most limit, that come behind the
	// wake after in the order of (At, ID): pass the last one of the page before, or the zero Wake.
	Due(ctx context.Context, until int64, after Wake, limit int) ([]Wake, error)
	// List pages through executions.
	List(ctx context.Context, f Filter) (Page, error)
}

// ModuleStore keeps modules and deployments.
type ModuleStore interface {
	// Deploy stores a module (if its digest is new), applies its migrations that the namespace has not seen,
	// and points the deployment at it, in one transaction. A failing migration is an *abi.Error of
	// abi.CodeMigrationFailed and leaves nothing behind. Version is assigned. It names the fence of the deployment's
	// shard: if that is not the current one, the answer is ErrFenced and nothing is changed.
	Deploy(ctx context.Context, f Fence, m Module, d Deployment, migrations []abi.Migration) (Deployment, error)
	// Module reads a module with its binary; ErrNotFound if there is none.
	Module(ctx context.Context, digest string) (*Module, error)
	// Digests lists up to limit digests of modules that begin with prefix, in ascending order.
	Digests(ctx context.Context, prefix string, limit int) ([]string, error)
	// Deployment reads a deployment; ErrNotFound if there is none.
	Deployment(ctx context.Context, namespace, name string) (*Deployment, error)
	// Deployments lists the deployments of a namespace by name.
	Deployments(ctx context.Context, namespace string) ([]Deployment, error)
}

// GuestSQL runs SQL of activities.
type GuestSQL interface {
	// Dialect of the SQL that modules write: abi.DialectSQLite or abi.DialectPostgres.
	Dialect() string
	// GuestsAlone tells whether the store commits nothing else while the transaction of an activity is open.
	GuestsAlone() bool
	// BeginGuest opens a transaction for SQL of an activity in the namespace. It waits until the store has room for one
	// or ctx is done. AfterConflicts tells it that the same work has collided before.
	BeginGuest(ctx context.Context, namespace string) (GuestTx, error)
}

// Maintenance is a host's work on a store besides its executions.
//
// Sweeps and purges are given the fences of their host: see [Owned]. They look at rows of its
// shards alone, and check the fences of the shards they delete from: if one is outdated, the answer
// is ErrFenced and nothing more is deleted. Rows go by shards, in transactions that are small; in
// which order is the store's affair.
type Maintenance interface {
	// Sweep deletes at most limit runs that were finished before the given time and that no
	// execution which is not over has started or is linked to: their rows in the table of
	// executions; all else that they have is garbage then, for Purge. It returns how many.
	Sweep(ctx context.Context, own []Fence, finishedBefore int64, limit int) (int, error)
	// Delete deletes a finished run, current or superseded, also if a step may still ask for it. A
	// step of a live run that has started it finds that it was deleted, and does not start it
	// again: Callee answers ErrSwept. ErrNotFound says that the execution has no such run, that it
	// has not ended, or that superseded is not its number: the current run, 0, may be superseded
	// meanwhile. It names the fence of the execution's shard.
	//
	// The receipts of the execution go with its current run, in as many transactions as they need, and before
	// it: a next run would take them for its own. All else that the run has is left to Purge.
	Delete(ctx context.Context, f Fence, id ID, run RunID, superseded uint64) error
	// Purge deletes up to limit rows of runs that are gone: deleted, swept, or continued by another. It returns how
	// many rows it deleted: fewer than limit if nothing is left. It also deletes results that came for runs which were
	// gone; of those it looks at [PurgeExamines] at most, and the next one goes on behind them.
	Purge(ctx context.Context, own []Fence, limit int) (int, error)
	// SweepReceipts deletes at most limit receipts from before the given time that no step of a run which is not over
	// may ask for, and returns how many.
	SweepReceipts(ctx context.Context, own []Fence, before int64, limit int) (int, error)
	// SweepLocks deletes at most limit locks whose holders are not in their sections any more, and returns how many.
	SweepLocks(ctx context.Context, own []Fence, limit int) (int, error)
	// Ping tells whether the store can commit at this moment: ErrFenced if shards that were claimed through it have
	// been claimed through another one since.
	Ping(ctx context.Context) error
	// Close releases the store. It rolls back the transactions of activities that are open.
	Close() error
}

// GuestTx is a transaction in which the statements of an activity and its journal entry commit
// together. Statements run confined to the namespace's own tables; a refused one is an *abi.Error
// of abi.CodeSQLForbidden, a statement that the database rejects is abi.CodeSQL. A transaction that
// the database rolled back because of others answers ErrConflict from then on. It is used by one
// goroutine at a time and ended by Commit or Rollback.
type GuestTx interface {
	// Exec runs one statement. Args are nil, bool, int64, uint64, float64, string, []byte or time.Time; $1 is the
	// first.
	Exec(ctx context.Context, query string, args []any) (rowsAffected int64, err error)
	// Query runs one statement and reads its rows: values of the same types, bounded by abi.MaxBody in total
	// (abi.CodeSQLResult beyond).
	Query(ctx context.Context, query string, args []any) (columns []string, rows [][]any, err error)
	// Commit adds the write, fenced like every other, and commits. Its errors are ErrFenced, ErrConflict, ErrUndecided
	// or others (nothing took effect). A write of rows that another commit has changed since the first statement may be
	// ErrConflict.
	Commit(ctx context.Context, w Write) error
	// Rollback undoes everything; harmless after Commit.
	Rollback(ctx context.Context) error
}
