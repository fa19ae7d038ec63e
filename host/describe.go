package host

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/journal"
)

// Description is the known state of an execution.
type Description struct {
	journal.Execution
	// Fuel is the fuel used by the turns of a running execution so far, each counted once. It
	// follows from the module and the journal.
	Fuel int64
	// Entries is the length of the journal, or of its beginning up to an entry that does
	// not decode.
	Entries int
	// EntryLimit is how many entries the journal may have.
	EntryLimit uint64
	// Patches are the changes of the code that the execution was asked about.
	Patches []Patch
	// Pending are the ops a running execution waits for, in order of issue. The callees of the
	// first maxCallees calls are known.
	Pending []PendingOp
	// Circle is executions that wait for each other's results, if this one is the first of them:
	// each has called the next, and the last has called this one.
	Circle []string
	// ParentName is the name of the execution that Parent is a step of; empty if there is
	// none, or if it was deleted.
	ParentName string
	// Deferreds are the settled ones, by name. [Engine.Deferred] has their values.
	Deferreds []journal.Settlement
	// Resident tells whether an instance was warm.
	Resident bool
	// Unread counts the signals that it has not received yet, by name.
	Unread map[string]int
	// Unanswered counts the updates that it has not answered yet, by name.
	Unanswered map[string]int
	// Published are its published values.
	Published *journal.Published
	// Earlier are runs of the execution that another one has taken the place of, newest first:
	// at most maxEarlier. More tells whether there are others.
	Earlier     []journal.Execution
	EarlierMore bool
}

// maxEarlier is how many earlier runs are told.
const maxEarlier = 100

// maxCallees is how many callees are told. Each takes a read or two.
const maxCallees = 100

// Patch is the decision of an execution about a change of the code that asks for it.
type Patch struct {
	ID    string
	Taken bool
	// Seq is the entry of the journal that says so: the answer itself, or the move to
	// the code that asks, if the execution was behind the change by then.
	Seq uint64
}

// PendingOp is an op that was issued and not delivered.
type PendingOp = execution.PendingOp

// Describe tells all about an execution. A cold one is replayed for the purpose. If its journal
// cannot be read, the description has the readable rest, and the reason as its error.
func (e *Engine) Describe(ctx context.Context, namespace, name string) (*Description, error) {
	return e.DescribeRun(ctx, namespace, name, "")
}

// describeTries is how often an execution is looked at that continues as another run in between.
const describeTries = 10

// errMovedOn says that an execution has continued as another run, or was deleted, while it was looked at.
var errMovedOn = errors.New("host: another run has taken its place")

// DescribeRun is Describe of a run as PollRun finds it. Earlier runs are told of the newest.
func (e *Engine) DescribeRun(ctx context.Context, namespace, name, run string) (*Description, error) {
	for range describeTries {
		row, err := e.PollRun(ctx, namespace, name, run)
		if err != nil {
			return nil, err
		}
		d, err := e.describe(ctx, namespace, name, run, row)
		if !errors.Is(err, errMovedOn) {
			return d, err
		}
	}
	return nil, abi.Errorf(abi.CodeOverloaded, "%s continues as another run faster than it can be described", runName(name, run))
}

// describe tells all about a run that was there a moment ago.
func (e *Engine) describe(ctx context.Context, namespace, name, run string, row *journal.Execution) (_ *Description, err error) {
	d := &Description{}
	if row.State == journal.Running {
		in, fault := e.executions.Inspect(ctx, execution.RefTo(row))
		switch code := abi.CodeOf(fault); {
		case code == abi.CodeExecutionNotFound:
			return nil, errMovedOn
		case fault != nil && code != abi.CodeHostFault:
			return nil, fault
		}
		d.Fuel, d.Pending, d.Resident = in.Fuel, in.Pending, in.Resident
		if row, err = e.PollRun(ctx, namespace, name, run); err != nil {
			return nil, err
		}
		if fault != nil && row.State == journal.Running {
			row.Error = abi.AsError(fault) // it is about to be paused with it
		}
	}
	whole, err := e.Whole(ctx, row)
	if abi.CodeOf(err) == abi.CodeExecutionNotFound {
		return nil, errMovedOn
	}
	if err != nil {
		return nil, err
	}
	row.Input, row.Value = whole.Input, whole.Value
	if row.Interrupt, err = e.executions.Asked(ctx, row); err != nil {
		return nil, err
	}
	d.Execution, d.EntryLimit = *row, e.executions.EntryLimit(row)
	e.describeFamily(ctx, d)
	if row.Superseded == 0 {
		if d.Earlier, err = e.store.Earlier(ctx, row.ID, 0, maxEarlier+1); err != nil {
			return nil, journal.Coded("describe "+name, err)
		}
		if d.EarlierMore = len(d.Earlier) > maxEarlier; d.EarlierMore {
			d.Earlier = d.Earlier[:maxEarlier]
		}
	}
	if d.Deferreds, err = journal.ListSettlements(ctx, e.store, row.Settlements()); err != nil {
		return nil, journal.Coded("describe "+name, err)
	}
	inbox, err := e.store.Inbox(ctx, row.Receiver(), 0)
	if err != nil {
		return nil, journal.Coded("describe "+name, err)
	}
	d.Unread, d.Unanswered = map[string]int{}, map[string]int{}
	for _, m := range inbox {
		switch {
		case m.Kind == journal.UpdateMessage:
			d.Unanswered[m.Name]++
		case m.Kind == journal.SignalMessage && !m.Held: // a held one was received
			d.Unread[m.Name]++
		}
	}
	if d.Published, err = e.executions.Published(ctx, row); err != nil {
		return nil, err
	}
	if d.Entries, d.Patches, err = e.skimJournal(ctx, row.RunKey()); err != nil {
		return nil, journal.Coded("describe "+name, err)
	}
	return d, nil
}

// describeFamily finds the caller of the execution, and the callees it waits for. Unreadable rows
// are left out: they are about others. Of their rows, which may be large, only names and states are
// kept.
func (e *Engine) describeFamily(ctx context.Context, d *Description) {
	if !d.Parent.IsZero() {
		if parent, err := e.store.Brief(ctx, d.Parent.ID); err == nil {
			d.ParentName = parent.Name()
		}
	}
	if d.State == journal.Running {
		d.Circle = e.describeCircle(ctx, &d.Execution)
	}
	calls := 0
	for i := range d.Pending {
		op := &d.Pending[i]
		if op.Kind != abi.OpCall {
			continue
		}
		if calls++; calls > maxCallees || ctx.Err() != nil {
			break
		}
		if callee, err := e.store.Callee(ctx, journal.Caller{ID: d.ID, Run: d.Run, Step: op.Step}); err == nil {
			op.Callee, op.State = callee.Name(), callee.State
		}
	}
}

// Deferred returns the settlement of a deferred of a run. The run may be gone by now: then there is
// none.
func (e *Engine) Deferred(ctx context.Context, of journal.Receiver, s *journal.Settlement) (*journal.Deferred, error) {
	d, err := journal.ReadDeferred(ctx, e.store, of, s.Position)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "the execution has no settled deferred %q any more", s.Name)
	}
	if err != nil {
		return nil, journal.Coded("describe the deferred "+s.Name, err)
	}
	return d, nil
}

// maxPatches is how many changes of the code are told.
const maxPatches = 1000

// skimJournal counts the entries of a journal, and finds the changes of the code that
// they tell of, each once. It ends before an entry that does not decode.
func (e *Engine) skimJournal(ctx context.Context, run journal.RunKey) (n int, patches []Patch, err error) {
	known := map[string]bool{}
	for en, err := range journal.Scan(ctx, e.store, run) {
		var damaged *journal.DamagedEntry
		if errors.As(err, &damaged) {
			break
		}
		if err != nil {
			return n, nil, err
		}
		n++
		for _, p := range patchesOf(en) {
			if !known[p.ID] && len(patches) < maxPatches {
				known[p.ID] = true
				patches = append(patches, p)
			}
		}
	}
	return n, patches, nil
}

// patchesOf returns the changes of the code that an entry records.
func patchesOf(en journal.Entry) (patches []Patch) {
	switch {
	case en.Kind == journal.Delivery && en.Op.Kind == abi.OpPatched:
		var taken bool
		if abi.Unmarshal(en.Value, &taken) == nil {
			patches = append(patches, Patch{ID: en.Op.Name, Taken: taken, Seq: en.Seq})
		}
	case en.Kind == journal.Moved:
		var move journal.Move
		if abi.Unmarshal(en.Value, &move) == nil {
			for _, id := range move.Declined {
				patches = append(patches, Patch{ID: id, Seq: en.Seq})
			}
		}
	}
	return patches
}

// maxHistory bounds a page of History.
const maxHistory = 1000

// History reads the journal of an execution, a page at a time: limit entries at most, and
// fewer if they are large. More tells whether there are others behind the page.
func (e *Engine) History(ctx context.Context, namespace, name string, after uint64, limit int) (entries []journal.Entry, more bool, err error) {
	return e.HistoryRun(ctx, namespace, name, "", after, limit)
}

// HistoryRun is History of a run as PollRun finds it.
func (e *Engine) HistoryRun(ctx context.Context, namespace, name, run string, after uint64, limit int) (entries []journal.Entry, more bool, err error) {
	row, err := e.PollRun(ctx, namespace, name, run)
	if err != nil {
		return nil, false, err
	}
	entries, more, err = e.store.Entries(ctx, row.RunKey(), after, journal.PageLimit{Entries: min(limit, maxHistory)})
	if err != nil {
		return nil, false, journal.Coded("history of "+name, err)
	}
	return entries, more, nil
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
