package journal

import (
	"errors"
	"fmt"
)

// Failures that a store tells apart. Anything else is a failure of the store itself.
var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("journal: not found")
	// ErrSwept says that the row was there once and was deleted, as a rule by retention.
	ErrSwept = errors.New("journal: deleted by retention")
	// ErrInboxFull says that there is no room for another message.
	ErrInboxFull = errors.New("journal: the inbox is full")
	// ErrFenced says that the write named a fence that is not the current one: another owner has the shard. Nothing was
	// written.
	ErrFenced = errors.New("journal: fenced by a newer owner")
	// ErrConflict says that the database rolled a transaction back because of others (serialization failure, deadlock,
	// busy). It may be retried whole.
	ErrConflict = errors.New("journal: transaction collided with another")
	// ErrPreempted is an ErrConflict of a transaction of a module that was open for so long that the journal waited for
	// it. It has more time when it is repeated.
	ErrPreempted = fmt.Errorf("%w: it was open for so long that the journal waited", ErrConflict)
	// ErrUndecided says that the answer to a commit was lost: it may have taken effect or not. Look before you retry.
	ErrUndecided = errors.New("journal: commit undecided")
	// ErrFull says that the disk of the store is full. Nothing was written.
	ErrFull = errors.New("journal: the disk of the store is full")
	// ErrStoreGone says that the store was taken away under the host, such as by deleting its files. Nothing is
	// acknowledged any more; the host must end.
	ErrStoreGone = errors.New("journal: the store is gone")
	// ErrCorrupt says that the stored data of an execution does not decode.
	ErrCorrupt = errors.New("journal: what is stored does not decode")
	// ErrUnavailable says that the store cannot be reached, or cannot commit for a reason that no write is to blame
	// for. Nothing was written.
	ErrUnavailable = errors.New("journal: the store is not available")
	// ErrInUse says that another process has the store open.
	ErrInUse = errors.New("journal: store in use")
)
