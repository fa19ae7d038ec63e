// Package sqlsweep has the sweeps of the SQL stores: retention of runs, receipts and locks, and the purge of rows that
// runs leave behind. The loops, their bounds and the order of their steps are here, once for both stores; a store
// brings the statements, as the operations of a Tx.
//
// # Needs of live runs
//
// Retention must not delete rows that a live run may still ask for: a child of it, an execution
// that it is linked to, the receipt of a message that it has sent. The naive sweep looks for the
// oldest row that no live run needs, and so walks over all that are needed, again at each page: a
// parent of a million children costs a million look-ups a time.
//
// Instead, a sweep that meets a needed row writes down its holder (the row is held), and that this
// run holds others. Both take a row out of the index that sweeps walk through. A finished holder
// comes into the index of holders by itself; the next sweep frees its rows. So each row is looked
// at once, and once more for each holder that it had.
package sqlsweep

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Sweeper sweeps a store. It implements a part of [journal.Maintenance].
type Sweeper struct {
	store  Store
	failed func(op string, err error) error

	purging chan struct{} // capacity 1
	purged  MailPlace     // the last message that Purge has looked at; guarded by purging
}

// New makes the sweeper of a store, which gives the errors of its transactions their form.
func New(store Store, failed func(op string, err error) error) *Sweeper {
	return &Sweeper{store: store, failed: failed, purging: make(chan struct{}, 1)}
}

// owned runs a transaction of the owner of shards.
func (w *Sweeper) owned(ctx context.Context, op string, own journal.Owned, use func(context.Context, Tx) error) error {
	if err := w.store.Owned(ctx, own, use); err != nil {
		return w.failed(op, err)
	}
	return nil
}

// Store is a SQL store whose rows are swept.
type Store interface {
	// Owned runs a transaction of the owner of shards. The fences that it checks hold until it has
	// ended.
	Owned(ctx context.Context, own journal.Owned, use func(ctx context.Context, tx Tx) error) error
	// Mail lists results and requests to stop behind a place, in an order of the store's, at most limit.
	Mail(ctx context.Context, own journal.Owned, after MailPlace, limit int) ([]Mail, error)
}

// Tx is a transaction of the owner of shards. Lists are in an order of the store's, behind a place that is zero at
// first. They may have rows of shards of other owners, but for the rows of OverHolder and Retired; nothing is done to
// them.
type Tx interface {
	// Check fails with [journal.ErrFenced] if one of the shards has another owner by now.
	Check(ctx context.Context, shards ...journal.Shard) error

	// OverHolder finds a run that holds rows and has ended, or is gone; nil if there is none.
	OverHolder(ctx context.Context) (*Holder, error)
	// Free frees up to limit runs and up to limit receipts of a holder, and tells whether there may be more.
	Free(ctx context.Context, h *Holder, limit int) (more bool, err error)
	// ClearHolder notes that a run holds nothing.
	ClearHolder(ctx context.Context, h *Holder) error

	// Expired lists runs that were over before a time, and that neither are held nor hold others.
	Expired(ctx context.Context, before int64, after RunPlace, limit int) ([]Expired, error)
	// Linked finds the runs that a live run was linked to after Expired has looked.
	Linked(ctx context.Context, found []Expired) (map[journal.RunID]bool, error)
	// Hold has runs held by their holders, if these are not over.
	Hold(ctx context.Context, held []Expired) error
	// Retire deletes the rows of runs and the attributes of current ones, and leaves the rest to Retired.
	Retire(ctx context.Context, gone []Expired) error

	// OldReceipts lists receipts from before a time that are not held.
	OldReceipts(ctx context.Context, before int64, after ReceiptPlace, limit int) ([]OldReceipt, error)
	// HoldReceipts has receipts held by their senders, if these are not over.
	HoldReceipts(ctx context.Context, held []OldReceipt) error
	// DeleteReceipts deletes receipts. In the order of OldReceipts none but held ones stand between them.
	DeleteReceipts(ctx context.Context, free []OldReceipt) (int, error)

	// Locks lists the locks of entities.
	Locks(ctx context.Context, after journal.ID, limit int) ([]Lock, error)
	// DeleteLocks deletes locks, unless others have taken their places.
	DeleteLocks(ctx context.Context, gone []Lock) (int, error)

	// Finished finds the run of an execution and its number among the superseded, and locks it;
	// [journal.ErrNotFound] if no such run has ended.
	Finished(ctx context.Context, id journal.ID, run journal.RunID) (superseded uint64, err error)
	// LeaveLink has the step that has started a run find that it was deleted, if the run of the step is not over.
	LeaveLink(ctx context.Context, run journal.RunKey) error

	// Retired lists runs that are gone, have left rows and hold nothing.
	Retired(ctx context.Context, limit int) ([]Retired, error)
	// Forget deletes the note that a run is gone.
	Forget(ctx context.Context, run journal.RunKey) error
	// DeleteRows deletes rows, as many as there is room for, which it takes. It tells whether none are left.
	DeleteRows(ctx context.Context, rows *Rows, room *Room) (whole bool, err error)
	// DeleteMail deletes messages.
	DeleteMail(ctx context.Context, lost []MailPlace) (int, error)
}

// Holder is a run that holds others. Retired says that its own row is gone.
type Holder struct {
	journal.RunKey
	Retired bool
}

// RunPlace is the place of a run in the order of a sweep.
type RunPlace struct {
	At         int64 // when it ended
	ID         journal.ID
	Superseded uint64
}

// Expired is a run past its retention, and a live run that may ask for it, if there is one.
type Expired struct {
	RunPlace
	Run    journal.RunID
	Holder *journal.RunKey
}

// Key is the key of its rows.
func (e *Expired) Key() journal.RunKey { return journal.KeyOf(e.ID, e.Run) }

// ReceiptPlace is the place of a receipt in the order of a sweep.
type ReceiptPlace struct {
	At     int64
	ID     journal.ID
	Origin journal.Origin
}

// OldReceipt is a receipt past its retention. Live says that the run of its sender has not ended.
type OldReceipt struct {
	ReceiptPlace
	From  journal.Caller
	Bytes int64
	Live  bool
}

// Lock is the lock of an entity. Held says that its holder is in the section of the lock.
type Lock struct {
	journal.Lock
	Held bool
}

// Retired is a run that is gone. Its chain is zero if another run continues it.
type Retired struct {
	journal.RunKey
	ID    journal.ID
	Chain journal.RunID
}

// MailPlace is the place of a message in all inboxes.
type MailPlace struct {
	To       journal.Receiver
	Position uint64
}

// Mail is a message, and whether its receiver is there.
type Mail struct {
	MailPlace
	There bool
}
