package observe

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// Description is the known state of an execution.
type Description struct {
	journal.Execution
	// Fuel is the fuel used by the turns of a running execution so far, each counted once. It
	// follows from the module and the journal.
	Fuel int64
	// Entries is the length of the journal, or of its beginning up to an entry that does not decode.
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
	// ParentName is the name of the execution that Parent is a step of; empty if there is none, or if it was deleted.
	ParentName string
	// Deferreds are the settled ones, by name. [Observer.Deferred] has their values.
	Deferreds []journal.Settlement
	// Resident tells whether an instance was warm.
	Resident bool
	// Unread counts the signals that it has not received yet, by name.
	Unread map[string]int
	// Unanswered counts the updates that it has not answered yet, by name.
	Unanswered map[string]int
	// Published are its published values.
	Published *journal.Published
	// Earlier are runs of the execution that another one has taken the place of, newest first: at most maxEarlier. More
	// tells whether there are others.
	Earlier     []journal.Execution
	EarlierMore bool
}

// maxEarlier is how many earlier runs are told.
const maxEarlier = 100

// maxCallees is how many callees are told. Each takes a read or two.
const maxCallees = 100

// PendingOp is an op that was issued and not delivered.
type PendingOp = execution.PendingOp

// Describe tells all about an execution. A cold one is replayed for the purpose. If its journal
// cannot be read, the description has the readable rest, and the reason as its error.
func (o *Observer) Describe(ctx context.Context, namespace, name string) (*Description, error) {
	return o.DescribeRun(ctx, namespace, name, "")
}

// describeTries is how often an execution is looked at that continues as another run in between.
const describeTries = 10

// errMovedOn says that an execution has continued as another run, or was deleted, while it was looked at.
var errMovedOn = errors.New("host: another run has taken its place")

// DescribeRun is Describe of a run as PollRun finds it. Earlier runs are told of the newest.
func (o *Observer) DescribeRun(ctx context.Context, namespace, name, run string) (*Description, error) {
	for range describeTries {
		row, err := o.PollRun(ctx, namespace, name, run)
		if err != nil {
			return nil, err
		}
		d, err := o.describe(ctx, namespace, name, run, row)
		if !errors.Is(err, errMovedOn) {
			return d, err
		}
	}
	return nil, abi.Errorf(
		abi.CodeOverloaded, "%s continues as another run faster than it can be described", runName(name, run),
	)
}

// describe tells all about a run that was there a moment ago.
func (o *Observer) describe(
	ctx context.Context, namespace, name, run string, row *journal.Execution,
) (_ *Description, err error) {
	d := &Description{}
	if row.State == journal.Running {
		in, fault := o.deps.Executions.Inspector.Inspect(ctx, request.RefTo(row))
		switch code := abi.CodeOf(fault); {
		case code == abi.CodeExecutionNotFound:
			return nil, errMovedOn
		case fault != nil && code != abi.CodeHostFault:
			return nil, fault
		}
		d.Fuel, d.Pending, d.Resident = in.Fuel, in.Pending, in.Resident
		if row, err = o.PollRun(ctx, namespace, name, run); err != nil {
			return nil, err
		}
		if fault != nil && row.State == journal.Running {
			row.Error = abi.AsError(fault) // it is about to be paused with it
		}
	}
	whole, err := o.Whole(ctx, row)
	if abi.CodeOf(err) == abi.CodeExecutionNotFound {
		return nil, errMovedOn
	}
	if err != nil {
		return nil, err
	}
	row.Input, row.Value = whole.Input, whole.Value
	if row.Interrupt, err = o.deps.Executions.Rows.AskedToStop(ctx, row); err != nil {
		return nil, err
	}
	d.Execution, d.EntryLimit = *row, o.deps.Executions.EntryLimit(row)
	o.describeFamily(ctx, d)
	if row.Superseded == 0 {
		if d.Earlier, err = o.deps.Store.Earlier(ctx, row.ID, 0, maxEarlier+1); err != nil {
			return nil, journal.Coded("describe "+name, err)
		}
		if d.EarlierMore = len(d.Earlier) > maxEarlier; d.EarlierMore {
			d.Earlier = d.Earlier[:maxEarlier]
		}
	}
	if d.Deferreds, err = journal.ListSettlements(ctx, o.deps.Store, row.Settlements()); err != nil {
		return nil, journal.Coded("describe "+name, err)
	}
	inbox, err := o.deps.Store.Inbox(ctx, row.Receiver(), 0)
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
	if d.Published, err = o.deps.Executions.Rows.Published(ctx, row); err != nil {
		return nil, err
	}
	if d.Entries, d.Patches, err = o.skimJournal(ctx, row.RunKey()); err != nil {
		return nil, journal.Coded("describe "+name, err)
	}
	return d, nil
}

// describeFamily finds the caller of the execution, and the callees it waits for. Unreadable rows
// are left out: they are about others. Of their rows, which may be large, only names and states are
// kept.
func (o *Observer) describeFamily(ctx context.Context, d *Description) {
	if !d.Parent.IsZero() {
		if parent, err := o.deps.Store.Brief(ctx, d.Parent.ID); err == nil {
			d.ParentName = parent.Name()
		}
	}
	if d.State == journal.Running {
		d.Circle = o.describeCircle(ctx, &d.Execution)
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
		if callee, err := o.deps.Store.Callee(ctx, journal.Caller{ID: d.ID, Run: d.Run, Step: op.Step}); err == nil {
			op.Callee, op.State = callee.Name(), callee.State
		}
	}
}
