package journal

import "context"

// # Locks
//
// A run that is in a critical section holds entities. Two rows say so: the lock, which the owner of the entity writes,
// names the step of the run that has it; and the row of the run names the step as its section. An entity is held while
// both agree.
//
// So a lock belongs to the run. The run ends its section by a write of its own row, and the write
// that ends a run ends its section as well: no lock can be left over, whatever happens to the host,
// to messages, or to the lock's row, which is garbage from then on. And an ended section is never
// entered again: a reader that has seen its end may rely on it for ever.
//
// The alternative, to delete the locks in the commit of the run, would have the owner of the run
// write rows by which the owner of another shard decides.

// Lock is the row of an entity that a step has locked.
type Lock struct {
	Entity    ID
	Namespace string
	// Type and Key name the entity, as in [Entity].
	Type string
	Key  string
	// Holder is the step that has locked it.
	Holder Caller
	// Since is when.
	Since int64
}

// HeldLock is a lock that is held, with the name of its holder: "deployment/Workflow/key".
type HeldLock struct {
	Lock
	HolderName string
}

// LockFilter selects locks for Locks. Zero fields select all.
type LockFilter struct {
	Namespace string
	// After is the entity of the last lock of the page before; zero at first.
	After ID
	// Limit is the page's size: 1 to 1000; 0 means 100.
	Limit int
}

// Size is how many locks a page has at most; a store's Locks begins with it.
func (f *LockFilter) Size() (int, error) { return pageSize(f.Limit, "locks") }

// LockReader reads locks.
type LockReader interface {
	// Lock reads the lock of an entity, held or not; ErrNotFound if there is none.
	Lock(ctx context.Context, entity ID) (*Lock, error)
	// LockedEntity reads an entity and its lock, held or not, as of one moment; nil for a missing one.
	LockedEntity(ctx context.Context, id ID) (*Entity, *Lock, error)
	// InSection tells whether the run of a step is not over and in the section of that step.
	InSection(ctx context.Context, step Caller) (bool, error)
	// Locks lists locks that are held, in the order of the ids of their entities. A page may have fewer than there is
	// room for; more tells whether there may be others behind it.
	Locks(ctx context.Context, f LockFilter) (locks []HeldLock, after ID, more bool, err error)
}
