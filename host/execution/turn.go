package execution

import (
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/wasm"
)

// firstTurn begins an execution that has no journal yet. It reports whether the run goes on.
func (r *run) firstTurn() bool {
	ctx, end := r.beginTurn()
	defer end()
	turn, begun, err := r.takeEagerStart()
	if !begun {
		turn, err = r.instance.Begin(ctx, r.row)
	}
	if err != nil {
		if r.turnCanceled(ctx, ledger.Batch{}) {
			return false
		}
		r.logCrashed(turn, err)
		return r.crashed(ledger.Batch{}, err)
	}
	r.life.begin()
	r.letGoOfInput()
	return r.commitTurn(ledger.Batch{}, turn)
}

// takeEagerStart makes the turn that was begun before the start was durable the run's own, also if
// the guest failed in it. It reports false if there is none.
func (r *run) takeEagerStart() (turn guest.Turn, begun bool, err error) {
	g, turn, err := r.eagerStart.result()
	if g == nil && err == nil {
		return guest.Turn{}, false, nil
	}
	r.instance.Adopt(g, turn)
	return turn, true, err
}

// takeTurn delivers a batch, whose large values were paid for. It reports whether the run goes on: see fillAndTake.
func (r *run) takeTurn(b ledger.Batch, paid *budget.Permit) bool {
	ctx, end := r.beginTurn()
	defer end()
	if err := r.ensureGuest(ctx); err != nil {
		return !r.turnCanceled(ctx, b) && r.crashed(b, err)
	}
	turn, err := r.instance.Deliver(wasm.WithTaken(ctx, func() { handOver(paid, &b) }), r.row.Namespace, b.Entries)
	if err != nil {
		if r.turnCanceled(ctx, b) {
			return false
		}
		r.logCrashed(turn, err)
		return r.crashed(b, err)
	}
	return r.commitTurn(b, turn)
}
