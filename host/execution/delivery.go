package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/ledger"
)

// admitDelivery waits for the memory of the large values that a batch delivers, with the guest
// that they are for. It reports false if the run cannot go on now: then none of them is read. If the guest crashes
// on its way, that is the crash: the values are paid for all the same, because a pause journals them.
func (r *run) admitDelivery(b *ledger.Batch) (paid *budget.Permit, ok bool, crash error) {
	bytes := r.mail.unreadBytes(b)
	if bytes <= largevalue.MaxInHand {
		return nil, true, nil
	}
	ctx, end := r.beginTurn()
	defer end()
	defer r.instance.Expect(bytes)()
	if crash = r.ensureGuest(ctx); crash != nil {
		if r.turnCanceled(ctx, *b) {
			return nil, false, nil
		}
		if abi.IsTransient(crash) {
			return nil, r.crashed(*b, crash), nil
		}
		r.instance.Drop()
	}
	paid, err := r.deps.Delivering.Acquire(ctx, min(largevalue.DeliveryCopies*bytes, r.deps.Delivering.Total()))
	if err != nil {
		r.turnCanceled(ctx, *b) // or the host ends
		return nil, false, nil
	}
	return paid, true, crash
}

// handOver gives back the memory of a batch whose values the guest has copied, except for the one copy that is written
// with the turn.
func handOver(paid *budget.Permit, b *ledger.Batch) {
	if paid != nil {
		paid.ShrinkTo(largevalue.Bytes(b.Entries))
	}
}
