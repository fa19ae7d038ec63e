package observe

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/journal"
)

// maxHistory bounds a page of History.
const maxHistory = 1000

// History reads the journal of an execution, a page at a time: limit entries at most, and fewer if they are large. More
// tells whether there are others behind the page.
func (o *Observer) History(
	ctx context.Context, namespace, name string, after uint64, limit int,
) (entries []journal.Entry, more bool, err error) {
	return o.HistoryRun(ctx, namespace, name, "", after, limit)
}

// HistoryRun is History of a run as PollRun finds it.
func (o *Observer) HistoryRun(
	ctx context.Context, namespace, name, run string, after uint64, limit int,
) (entries []journal.Entry, more bool, err error) {
	row, err := o.PollRun(ctx, namespace, name, run)
	if err != nil {
		return nil, false, err
	}
	entries, more, err = o.deps.Store.Entries(ctx, row.RunKey(), after, journal.PageLimit{
		Entries: min(limit, maxHistory),
	})
	if err != nil {
		return nil, false, journal.Coded("history of "+name, err)
	}
	return entries, more, nil
}

// List pages through executions.
func (o *Observer) List(ctx context.Context, f journal.Filter) (journal.Page, error) {
	f.Namespace = cmp.Or(f.Namespace, journal.DefaultNamespace)
	page, err := o.deps.Store.List(ctx, f)
	if err != nil {
		return page, journal.Coded("list executions", err)
	}
	return page, nil
}
