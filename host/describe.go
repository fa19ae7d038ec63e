package host

import (
	"context"

	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/journal"
)

// Description is all that is known of an execution.
type Description struct {
	journal.Execution
	// Entries is the length of the journal.
	Entries int
	// Pending is what a running execution waits for, in order of issue.
	Pending []PendingOp
	// Deferreds are the settled ones.
	Deferreds []journal.Deferred
	// Resident tells whether an instance was warm.
	Resident bool
}

// PendingOp is an op that was issued and not delivered.
type PendingOp = execution.PendingOp

// Describe tells all about an execution. A running one that is cold is replayed for
// the purpose.
func (e *Engine) Describe(ctx context.Context, namespace, name string) (*Description, error) {
	row, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	d := &Description{}
	if row.State == journal.Running {
		in, err := e.executions.Inspect(ctx, execution.RefTo(row))
		if err != nil {
			return nil, err
		}
		d.Pending, d.Resident = in.Pending, in.Resident
		if row, err = e.Poll(ctx, namespace, name); err != nil {
			return nil, err
		}
	}
	d.Execution = *row
	if d.Deferreds, err = e.store.Deferreds(ctx, row.ID); err != nil {
		return nil, journal.Coded("describe "+name, err)
	}
	if d.Entries, err = e.countEntries(ctx, row.ID); err != nil {
		return nil, journal.Coded("describe "+name, err)
	}
	return d, nil
}

// countPage is how many entries are read at a time to be counted. Each may be as
// large as a payload, hence so few.
const countPage = 64

func (e *Engine) countEntries(ctx context.Context, id journal.ID) (n int, err error) {
	for after := uint64(0); ; {
		page, err := e.store.Entries(ctx, id, after, countPage)
		if err != nil {
			return n, err
		}
		n += len(page)
		if len(page) < countPage {
			return n, nil
		}
		after = page[len(page)-1].Seq
	}
}

// maxHistory bounds a page of History.
const maxHistory = 1000

// History reads the journal of an execution, a page at a time.
func (e *Engine) History(ctx context.Context, namespace, name string, after uint64, limit int) ([]journal.Entry, error) {
	row, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if limit <= 0 || limit > maxHistory {
		limit = maxHistory
	}
	entries, err := e.store.Entries(ctx, row.ID, after, limit)
	if err != nil {
		return nil, journal.Coded("history of "+name, err)
	}
	return entries, nil
}

// List pages through executions.
func (e *Engine) List(ctx context.Context, f journal.Filter) (journal.Page, error) {
	f.Namespace = namespaceOf(f.Namespace)
	page, err := e.store.List(ctx, f)
	if err != nil {
		return page, journal.Coded("list executions", err)
	}
	return page, nil
}
