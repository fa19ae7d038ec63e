package execution

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// inspectPatience is how long a run is asked. One that takes longer computes, as a rule, or waits for memory.
const inspectPatience = time.Second

// Inspector looks into the runs of executions.
type Inspector struct {
	deps *Deps
	runs *registry
}

// Inspect returns the state of a running execution. A cold execution is replayed for the purpose. A
// long computation is not waited for: the caller may ask because it does not come back.
func (i *Inspector) Inspect(ctx context.Context, ref request.Ref) (Inspection, error) {
	reply := make(chan inspected, 1)
	i.runs.Post(ref.ID, addressed(ref, inspectRequest{reply}))
	patience := i.deps.Clock.NewTimer(inspectPatience)
	defer patience.Stop()
	for {
		select {
		case in := <-reply:
			return in.Inspection, in.err
		case <-patience.Chan():
			if in, computes := i.computing(ref.ID); computes {
				return in, nil
			}
			patience.Reset(inspectPatience) // it waits for its turn
		case <-ctx.Done():
			return Inspection{}, journal.Coded("describe "+ref.Name, ctx.Err())
		case <-i.deps.Host.Context().Done():
			return Inspection{}, i.deps.Host.EndReason()
		}
	}
}

// computing returns the known state of a run in the middle of a turn. It reports false if it is not
// in one.
func (i *Inspector) computing(id journal.ID) (Inspection, bool) {
	r, found := i.runs.Get(id)
	if !found {
		return Inspection{}, false
	}
	since := r.progress.since.Load()
	if since == 0 {
		return Inspection{}, false
	}
	turn := PendingOp{Kind: KindTurn, Since: time.Unix(0, since)}
	return Inspection{Pending: append([]PendingOp{turn}, r.pending()...), Resident: true}, true
}

func (r *run) inspect() Inspection {
	return Inspection{Fuel: r.instance.Fuel(), Pending: r.pending(), Resident: r.instance.Warm()}
}

// pending are the ops that are pending, in order of issue. It may be asked from any goroutine.
func (r *run) pending() (all []PendingOp) {
	r.ledger.With(func(l *ledger.Ledger) { all = pendingOps(l) })
	slices.SortFunc(all, func(a, b PendingOp) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// pendingOps are the ops that are pending, in any order.
func pendingOps(l *ledger.Ledger) (all []PendingOp) {
	for o := range l.Ops().All() {
		p := PendingOp{
			Number:    o.Number,
			Kind:      o.Kind,
			Name:      o.Name,
			Key:       o.Key,
			Step:      o.StepID,
			Since:     time.Unix(0, o.IssuedAt),
			LastError: o.LastError,
		}
		if due := o.DueAt(); due != journal.Never {
			p.DueAt = time.Unix(0, due)
		}
		if o.Kind == abi.OpActivity {
			p.Attempt = o.Attempts + 1
		}
		all = append(all, p)
	}
	return all
}

// Awaits tells whether an execution waits for the outcome of a step, as far as that is known: an
// evicted one may wait for more steps than its row names.
func (i *Inspector) Awaits(row *journal.Execution, step journal.Caller) bool {
	if row.Chain != step.Run {
		return false
	}
	if r, found := i.runs.Get(row.ID); found {
		waits := false
		r.ledger.With(func(l *ledger.Ledger) { waits = l.Ops().Step(step.Step) != nil })
		return waits
	}
	return len(row.Waiting.List) == 0 || slices.Contains(row.Waiting.List, step.Step)
}

// WaitsFor returns the waiting state of a run in memory, with all steps by name. It reports false
// if that is not known.
func (i *Inspector) WaitsFor(ctx context.Context, row *journal.Execution) (journal.Waiting, bool) {
	if !i.runs.Has(row.ID) {
		return journal.Waiting{}, false
	}
	reply := make(chan journal.Waiting, 1)
	i.runs.Post(row.ID, ofRun{row.Run, waitingRequest{reply}})
	select {
	case w := <-reply:
		return w, len(w.List) > 0
	case <-ctx.Done():
	case <-i.deps.Host.Context().Done():
	}
	return journal.Waiting{}, false
}
