package execution

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// PendingOp is an op that was issued and not delivered.
type PendingOp struct {
	Number    uint32
	Kind      string
	Name      string
	Key       string
	Step      journal.StepID
	Since     time.Time
	DueAt     time.Time // zero if no time decides
	Attempt   uint32    // of activities: the one under way or due next
	LastError *abi.Error
	Callee    string        // of calls: the name of what they wait for; empty if it is not known
	State     journal.State // of the callee
}

// Inspection is what a run knows about itself.
type Inspection struct {
	// Fuel is what its turns have used.
	Fuel int64
	// Pending is what the execution waits for, in order of issue.
	Pending []PendingOp
	// Resident tells whether an instance was warm.
	Resident bool
}

// Inspect asks a running execution what it is waiting for. One that is cold is
// replayed for the purpose.
func (x *Executions) Inspect(ctx context.Context, ref Ref) (Inspection, error) {
	reply := make(chan inspected, 1)
	x.runs.Post(ref.ID, ref.addressed(inspectRequest{reply}))
	select {
	case in := <-reply:
		return in.Inspection, in.err
	case <-ctx.Done():
		return Inspection{}, journal.Coded("describe "+ref.Name, ctx.Err())
	case <-x.Host.Context().Done():
		return Inspection{}, x.Host.EndReason()
	}
}

func (r *run) inspect() Inspection {
	in := Inspection{Fuel: r.fuel, Resident: r.guest != nil}
	r.mu.Lock()
	defer r.mu.Unlock()
	for o := range r.ledger.ops.All() {
		p := PendingOp{Number: o.Number, Kind: o.Kind, Name: o.Name, Key: o.Key, Step: o.StepID, Since: time.Unix(0, o.IssuedAt), LastError: o.LastError}
		if due := o.DueAt(); due != journal.Never {
			p.DueAt = time.Unix(0, due)
		}
		if o.Kind == abi.OpActivity {
			p.Attempt = o.Attempts + 1
		}
		in.Pending = append(in.Pending, p)
	}
	slices.SortFunc(in.Pending, func(a, b PendingOp) int { return cmp.Compare(a.Number, b.Number) })
	return in
}
