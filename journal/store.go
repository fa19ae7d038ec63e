package journal

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
)

// Failures a store tells apart. Anything else is a failure of the store itself.
var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("journal: not found")
	// ErrFenced says that the write named an epoch that is over: another owner
	// has the shard. Nothing was written.
	ErrFenced = errors.New("journal: fenced by a newer owner")
	// ErrConflict says that the database rolled a transaction back because of
	// others (serialization failure, deadlock, busy): it may be repeated whole.
	ErrConflict = errors.New("journal: transaction collided with another")
	// ErrUndecided says that the answer to a commit was lost: it may have taken
	// effect or not. Look before repeating.
	ErrUndecided = errors.New("journal: commit undecided")
	// ErrInUse says that another process holds the store.
	ErrInUse = errors.New("journal: store in use")
)

// Write is what one execution wants to have committed: all of it or nothing.
// Exactly the parts that are set are written.
type Write struct {
	ID    ID
	Epoch Epoch

	// Start inserts the execution. If it exists already nothing of this Write
	// takes effect, and Result.Existed is set.
	Start *Execution
	// Entries are appended to the journal. A sequence number that is taken
	// already fails the Write.
	Entries []Entry
	// Update changes the row; ErrNotFound if there is none.
	Update *Update
	// Settle settles a deferred. If it was settled before, nothing of this Write
	// takes effect, and Result.Existed is set.
	Settle *Deferred
	// Interrupt records a request to stop; an earlier one stands.
	Interrupt *Interrupt
}

// Update overwrites these columns of an execution, all of them.
type Update struct {
	State      State
	WakeAt     int64
	Value      []byte
	Error      *abi.Error
	FinishedAt int64
}

// Result is what became of one Write of a batch.
type Result struct {
	// Existed says that Start or Settle found its row there already.
	Existed bool
	// Err is ErrFenced, ErrNotFound or a duplicate sequence number; the other
	// Writes of the batch are not affected by it.
	Err error
}

// Filter selects executions for List. Zero fields select all.
type Filter struct {
	Namespace string
	// Workflow is "deployment/Name", or "deployment/" for all of a deployment.
	Workflow string
	State    State
	// After is the cursor of the page before.
	After string
	// Limit is the page's size: 1 to 1000; 0 means 100.
	Limit int
}

// Page is one page of executions, newest first. Input and Value are left out.
type Page struct {
	Executions []Execution
	// Next is the cursor of the next page; empty if this is the last.
	Next string
}

// Store keeps everything that must survive the host. All methods are safe for
// concurrent use. Reads see every commit that was acknowledged before.
type Store interface {
	// Dialect of the SQL that modules write: abi.DialectSQLite or
	// abi.DialectPostgres.
	Dialect() string

	// ClaimShards makes owner the owner of all shards: every epoch rises by one,
	// in one transaction. It returns the new epochs by shard.
	ClaimShards(ctx context.Context, owner string) ([]Epoch, error)

	// Commit applies writes in one transaction, each checked against the epoch
	// of its shard inside that transaction. The result has one element a write.
	// An error means that none of them took effect, unless it is ErrUndecided.
	Commit(ctx context.Context, writes []Write) ([]Result, error)

	// Load reads an execution; ErrNotFound if there is none.
	Load(ctx context.Context, id ID) (*Execution, error)
	// Entries reads at most limit entries with a Seq above after, in order.
	Entries(ctx context.Context, id ID, after uint64, limit int) ([]Entry, error)
	// Deferreds reads the settled deferreds of an execution.
	Deferreds(ctx context.Context, id ID) ([]Deferred, error)
	// ChildOf finds the execution that an op of a parent started; ErrNotFound if
	// there is none.
	ChildOf(ctx context.Context, parent ID, op uint32) (*Execution, error)
	// Due lists running executions with WakeAt at or before until, earliest
	// first, at most limit, that come behind the wake after in the order of
	// (At, ID): pass the last one of the page before, or the zero Wake.
	Due(ctx context.Context, until int64, after Wake, limit int) ([]Wake, error)
	// List pages through executions.
	List(ctx context.Context, f Filter) (Page, error)

	// Deploy stores a module (if its digest is new), applies those of its
	// migrations that the namespace has not seen, and points the deployment at
	// it, in one transaction. A failing migration is an *abi.Error of
	// abi.CodeMigrationFailed and leaves nothing behind. Version is assigned.
	Deploy(ctx context.Context, m Module, d Deployment, migrations []abi.Migration) (Deployment, error)
	// Module reads a module with its binary; ErrNotFound if there is none.
	Module(ctx context.Context, digest string) (*Module, error)
	// Deployment reads a deployment; ErrNotFound if there is none.
	Deployment(ctx context.Context, namespace, name string) (*Deployment, error)
	// Deployments lists the deployments of a namespace by name.
	Deployments(ctx context.Context, namespace string) ([]Deployment, error)

	// BeginGuest opens a transaction for SQL of an activity in the namespace.
	// It waits for its turn until ctx is done.
	BeginGuest(ctx context.Context, namespace string) (GuestTx, error)

	// Sweep deletes at most limit executions, with their journals and deferreds,
	// that were finished before the given time and whose parent, if any, is
	// final or gone. It returns how many.
	Sweep(ctx context.Context, finishedBefore int64, limit int) (int, error)

	// Ping tells whether the store can commit at this moment: ErrFenced if shards
	// that were claimed through it have been claimed through another one since.
	Ping(ctx context.Context) error
	Close() error
}

// GuestTx is a transaction in which the statements of an activity and its
// journal entry commit together. Statements run confined to the namespace's own
// tables; a refused one is an *abi.Error of abi.CodeSQLForbidden, one that the
// database rejects is abi.CodeSQL. A transaction the database rolled back for
// the sake of others answers ErrConflict from then on. It is used by one
// goroutine at a time and ended by Commit or Rollback.
type GuestTx interface {
	// Exec runs one statement. Args are nil, bool, int64, uint64, float64,
	// string, []byte or time.Time; $1 is the first.
	Exec(ctx context.Context, query string, args []any) (rowsAffected int64, err error)
	// Query runs one statement and reads its rows: values of the same types,
	// bounded by abi.MaxBody in total (abi.CodeSQLResult beyond).
	Query(ctx context.Context, query string, args []any) (columns []string, rows [][]any, err error)
	// Commit adds the write, fenced like every other, and commits. Its errors
	// are ErrFenced, ErrConflict, ErrUndecided or others (nothing took effect).
	Commit(ctx context.Context, w Write) error
	// Rollback undoes everything; harmless after Commit.
	Rollback(ctx context.Context) error
}
