package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cruster/cruster/journal"
)

// mode is a way to fail.
type mode string

const (
	healthy  mode = ""
	refused  mode = "refused"  // the call did not take effect
	conflict mode = "conflict" // the call did not take effect, because it collided with another
	lost     mode = "lost"     // in doubt: the call did not take effect
	applied  mode = "applied"  // in doubt: the call took effect
)

var errInjected = errors.New("injected failure of the store")

// failing is a store that fails when the test says so. It counts the calls,
// commits of guests and of the committer among them.
type failing struct {
	journal.Store

	mu     sync.Mutex
	decide func(call string) mode // guarded by mu; nil = healthy
	calls  map[string]int         // guarded by mu
}

// fail lets decide choose how each call fails from now on, and resets the count.
func (f *failing) fail(decide func(call string) mode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide, f.calls = decide, map[string]int{}
}

func (f *failing) next(call string) mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.decide == nil {
		return healthy
	}
	f.calls[call]++
	return f.decide(call)
}

// commit runs a commit under a mode.
func commit(m mode, do func() error) error {
	switch m {
	case refused:
		return errInjected
	case conflict:
		return fmt.Errorf("%w: %w", journal.ErrConflict, errInjected)
	case lost:
		return fmt.Errorf("%w: %w", journal.ErrUndecided, errInjected)
	case applied:
		if err := do(); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", journal.ErrUndecided, errInjected)
	default:
		return do()
	}
}

// read runs any other call, which either works or fails.
func read[T any](f *failing, call string, do func() (T, error)) (T, error) {
	if f.next(call) != healthy {
		var none T
		return none, errInjected
	}
	return do()
}

func (f *failing) Commit(ctx context.Context, writes []journal.Write) (results []journal.Result, err error) {
	err = commit(f.next("commit"), func() error {
		results, err = f.Store.Commit(ctx, writes)
		return err
	})
	return results, err
}

func (f *failing) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return read(f, "load", func() (*journal.Execution, error) { return f.Store.Load(ctx, id) })
}

func (f *failing) Entries(ctx context.Context, id journal.ID, after uint64, limit int) ([]journal.Entry, error) {
	return read(f, "entries", func() ([]journal.Entry, error) { return f.Store.Entries(ctx, id, after, limit) })
}

func (f *failing) Deferreds(ctx context.Context, id journal.ID) ([]journal.Deferred, error) {
	return read(f, "deferreds", func() ([]journal.Deferred, error) { return f.Store.Deferreds(ctx, id) })
}

func (f *failing) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	return read(f, "callee", func() (*journal.Execution, error) { return f.Store.Callee(ctx, step) })
}

func (f *failing) Module(ctx context.Context, digest string) (*journal.Module, error) {
	return read(f, "module", func() (*journal.Module, error) { return f.Store.Module(ctx, digest) })
}

func (f *failing) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return read(f, "due", func() ([]journal.Wake, error) { return f.Store.Due(ctx, until, after, limit) })
}

func (f *failing) BeginGuest(ctx context.Context, namespace string) (journal.GuestTx, error) {
	tx, err := read(f, "begin", func() (journal.GuestTx, error) { return f.Store.BeginGuest(ctx, namespace) })
	if err != nil {
		return nil, err
	}
	return &failingTx{tx, f}, nil
}

type failingTx struct {
	journal.GuestTx
	store *failing
}

func (tx *failingTx) Exec(ctx context.Context, query string, args []any) (int64, error) {
	return read(tx.store, "exec", func() (int64, error) { return tx.GuestTx.Exec(ctx, query, args) })
}

func (tx *failingTx) Commit(ctx context.Context, w journal.Write) error {
	err := commit(tx.store.next("guest"), func() error { return tx.GuestTx.Commit(ctx, w) })
	if err != nil {
		_ = tx.GuestTx.Rollback(context.WithoutCancel(ctx))
	}
	return err
}
