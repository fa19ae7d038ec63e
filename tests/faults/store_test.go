package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// mode is a way to fail.
type mode string

const (
	healthy  mode = ""
	refused  mode = "refused"  // the call did not take effect
	conflict mode = "conflict" // the call did not take effect, because it collided with another
	slow     mode = "slow"     // the store is asked when the time of the call has passed
	lost     mode = "lost"     // in doubt: the call did not take effect
	applied  mode = "applied"  // in doubt: the call took effect
	late     mode = "late"     // in doubt: the call took effect, and its time was over before the answer came
	panicked mode = "panicked" // in doubt: the store panicked after the call took effect
)

var errInjected = errors.New("injected failure of the store")

// failing is a store that fails when the test says so. It counts the calls, commits of guests and of the committer
// among them.
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

// counts stops the failures, and tells how many calls of each kind there were.
func (f *failing) counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.decide = nil
	return f.calls
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

// ask makes a call under a mode.
func ask[T any](ctx context.Context, m mode, do func(ctx context.Context) (T, error)) (T, error) {
	var none T
	undecided := fmt.Errorf("%w: %w", journal.ErrUndecided, errInjected)
	switch m {
	case refused:
		return none, errInjected
	case conflict:
		return none, fmt.Errorf("%w: %w", journal.ErrConflict, errInjected)
	case slow:
		ctx, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
		defer cancel()
		return do(ctx)
	case lost:
		return none, undecided
	}
	value, err := do(ctx)
	if err != nil || m == healthy {
		return value, err
	}
	switch m {
	case panicked:
		panic(errInjected)
	case late:
		return none, fmt.Errorf("%w: %w", undecided, context.DeadlineExceeded)
	default:
		return none, undecided
	}
}

// without makes a call that returns nothing but an error look like the others.
func without(do func(ctx context.Context) error) func(ctx context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) }
}

func (f *failing) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	return ask(ctx, f.next("commit"), func(ctx context.Context) ([]journal.Result, error) {
		return f.Store.Commit(ctx, writes)
	})
}

func (f *failing) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return ask(ctx, f.next("load"), func(ctx context.Context) (*journal.Execution, error) {
		return f.Store.Load(ctx, id)
	})
}

func (f *failing) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return ask(ctx, f.next("load"), func(ctx context.Context) (*journal.Execution, error) {
		return f.Store.Brief(ctx, id)
	})
}

func (f *failing) BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return ask(ctx, f.next("load"), func(ctx context.Context) (*journal.Execution, error) {
		return f.Store.BriefRun(ctx, id, run)
	})
}

func (f *failing) Entries(
	ctx context.Context, run journal.RunKey, after uint64, limit journal.PageLimit,
) (entries []journal.Entry, more bool, err error) {
	entries, err = ask(ctx, f.next("entries"), func(ctx context.Context) (found []journal.Entry, err error) {
		found, more, err = f.Store.Entries(ctx, run, after, limit)
		return found, err
	})
	return entries, more, err
}

func (f *failing) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	return ask(ctx, f.next("inbox"), func(ctx context.Context) ([]journal.Envelope, error) {
		return f.Store.Inbox(ctx, to, after)
	})
}

func (f *failing) Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error) {
	return ask(ctx, f.next("message"), func(ctx context.Context) (*journal.Message, error) {
		return f.Store.Message(ctx, to, position)
	})
}

func (f *failing) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	return ask(ctx, f.next("callee"), func(ctx context.Context) (*journal.Execution, error) {
		return f.Store.Callee(ctx, step)
	})
}

func (f *failing) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return ask(ctx, f.next("due"), func(ctx context.Context) ([]journal.Wake, error) {
		return f.Store.Due(ctx, until, after, limit)
	})
}

func (f *failing) List(ctx context.Context, filter journal.Filter) (journal.Page, error) {
	return ask(ctx, f.next("list"), func(ctx context.Context) (journal.Page, error) {
		return f.Store.List(ctx, filter)
	})
}

func (f *failing) Module(ctx context.Context, digest string) (*journal.Module, error) {
	return ask(ctx, f.next("module"), func(ctx context.Context) (*journal.Module, error) {
		return f.Store.Module(ctx, digest)
	})
}

func (f *failing) Digests(ctx context.Context, prefix string, limit int) ([]string, error) {
	return ask(ctx, f.next("digests"), func(ctx context.Context) ([]string, error) {
		return f.Store.Digests(ctx, prefix, limit)
	})
}

func (f *failing) Deployment(ctx context.Context, namespace, name string) (*journal.Deployment, error) {
	return ask(ctx, f.next("deployment"), func(ctx context.Context) (*journal.Deployment, error) {
		return f.Store.Deployment(ctx, namespace, name)
	})
}

func (f *failing) Deployments(ctx context.Context, namespace string) ([]journal.Deployment, error) {
	return ask(ctx, f.next("deployments"), func(ctx context.Context) ([]journal.Deployment, error) {
		return f.Store.Deployments(ctx, namespace)
	})
}

func (f *failing) Deploy(
	ctx context.Context, fence journal.Fence, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	return ask(ctx, f.next("deploy"), func(ctx context.Context) (journal.Deployment, error) {
		return f.Store.Deploy(ctx, fence, m, d, migrations)
	})
}

func (f *failing) ClaimShards(ctx context.Context, owner string) ([]journal.Fence, error) {
	return ask(ctx, f.next("claim"), func(ctx context.Context) ([]journal.Fence, error) {
		return f.Store.ClaimShards(ctx, owner)
	})
}

func (f *failing) Sweep(ctx context.Context, own []journal.Fence, finishedBefore int64, limit int) (int, error) {
	return ask(ctx, f.next("sweep"), func(ctx context.Context) (int, error) {
		return f.Store.Sweep(ctx, own, finishedBefore, limit)
	})
}

func (f *failing) Ping(ctx context.Context) error {
	_, err := ask(ctx, f.next("ping"), without(f.Store.Ping))
	return err
}

func (f *failing) BeginGuest(ctx context.Context, namespace string) (journal.GuestTx, error) {
	tx, err := ask(ctx, f.next("begin"), func(ctx context.Context) (journal.GuestTx, error) {
		return f.Store.BeginGuest(ctx, namespace)
	})
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
	return ask(ctx, tx.store.next("exec"), func(ctx context.Context) (int64, error) {
		return tx.GuestTx.Exec(ctx, query, args)
	})
}

func (tx *failingTx) Query(ctx context.Context, query string, args []any) (columns []string, rows [][]any, err error) {
	rows, err = ask(ctx, tx.store.next("query"), func(ctx context.Context) (rows [][]any, err error) {
		columns, rows, err = tx.GuestTx.Query(ctx, query, args)
		return rows, err
	})
	return columns, rows, err
}

func (tx *failingTx) Commit(ctx context.Context, w journal.Write) error {
	_, err := ask(
		ctx, tx.store.next("guest"), without(func(ctx context.Context) error { return tx.GuestTx.Commit(ctx, w) }),
	)
	if err != nil {
		_ = tx.GuestTx.Rollback(context.WithoutCancel(ctx))
	}
	return err
}

func (tx *failingTx) Rollback(ctx context.Context) error {
	_, err := ask(ctx, tx.store.next("rollback"), without(tx.GuestTx.Rollback))
	if err != nil {
		_ = tx.GuestTx.Rollback(context.WithoutCancel(ctx))
	}
	return err
}
