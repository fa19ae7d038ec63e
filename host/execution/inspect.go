package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
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
type PendingOp struct {
	Number    uint32
	Kind      string
	Name      string
	Key       string
	Since     time.Time
	DueAt     time.Time // zero if no time decides
	Attempt   uint32    // of activities: the one under way or due next
	LastError *abi.Error
}

// inspection is the answer of a run about itself.
type inspection struct {
	pending  []PendingOp
	resident bool
	err      error
}

func executionID(namespace, execution string) (journal.ID, error) {
	workflow, key, ok := journal.ParseName(execution)
	if !ok {
		return journal.ID{}, abi.Errorf(abi.CodeExecutionNotFound, "%.300q does not name an execution", execution)
	}
	return journal.IDOf(namespaceOf(namespace), workflow, key), nil
}

func (e *Engine) loadRow(ctx context.Context, id journal.ID, name string) (*journal.Execution, error) {
	row, err := e.store.Load(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "there is no execution %.300q", name)
	}
	if err != nil {
		return nil, storeError("load "+name, err)
	}
	return row, nil
}

// Poll reads an execution as it is.
func (e *Engine) Poll(ctx context.Context, namespace, execution string) (*journal.Execution, error) {
	id, err := executionID(namespace, execution)
	if err != nil {
		return nil, err
	}
	return e.loadRow(ctx, id, execution)
}

// Describe tells all about an execution. A running one that is cold is replayed
// for the purpose.
func (e *Engine) Describe(ctx context.Context, namespace, execution string) (*Description, error) {
	row, err := e.Poll(ctx, namespace, execution)
	if err != nil {
		return nil, err
	}
	d := &Description{}
	if row.State == journal.Running {
		reply := make(chan inspection, 1)
		e.post(row.ID, inspectMail{reply})
		select {
		case in := <-reply:
			if in.err != nil {
				return nil, in.err
			}
			d.Pending, d.Resident = in.pending, in.resident
		case <-ctx.Done():
			return nil, storeError("describe "+execution, ctx.Err())
		case <-e.ctx.Done():
			return nil, abi.Errorf(abi.CodeShuttingDown, "the host is shutting down")
		}
		if row, err = e.Poll(ctx, namespace, execution); err != nil {
			return nil, err
		}
	}
	d.Execution = *row
	if d.Deferreds, err = e.store.Deferreds(ctx, row.ID); err != nil {
		return nil, storeError("describe "+execution, err)
	}
	for after := uint64(0); ; {
		page, err := e.store.Entries(ctx, row.ID, after, replayPage)
		if err != nil {
			return nil, storeError("describe "+execution, err)
		}
		d.Entries += len(page)
		if len(page) < replayPage {
			return d, nil
		}
		after = page[len(page)-1].Seq
	}
}

// inspect describes the pending ops of the run.
func (r *run) inspect() inspection {
	in := inspection{resident: r.guest != nil}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.pending {
		p := PendingOp{Number: o.Number, Kind: o.Kind, Name: o.Name, Key: o.Key, Since: time.Unix(0, o.issuedAt), LastError: o.lastError}
		if due := o.dueAt(); due != journal.Never {
			p.DueAt = time.Unix(0, due)
		}
		if o.Kind == abi.OpActivity {
			p.Attempt = o.attempts + 1
		}
		in.pending = append(in.pending, p)
	}
	slices.SortFunc(in.pending, func(a, b PendingOp) int { return cmp.Compare(a.Number, b.Number) })
	return in
}

// maxHistory bounds a page of History.
const maxHistory = 1000

// History reads the journal of an execution, a page at a time.
func (e *Engine) History(ctx context.Context, namespace, execution string, after uint64, limit int) ([]journal.Entry, error) {
	row, err := e.Poll(ctx, namespace, execution)
	if err != nil {
		return nil, err
	}
	if limit <= 0 || limit > maxHistory {
		limit = maxHistory
	}
	entries, err := e.store.Entries(ctx, row.ID, after, limit)
	if err != nil {
		return nil, storeError("history of "+execution, err)
	}
	return entries, nil
}

// List pages through executions.
func (e *Engine) List(ctx context.Context, f journal.Filter) (journal.Page, error) {
	f.Namespace = namespaceOf(f.Namespace)
	page, err := e.store.List(ctx, f)
	if err != nil {
		return page, storeError("list executions", err)
	}
	return page, nil
}
