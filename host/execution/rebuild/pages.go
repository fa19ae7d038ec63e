package rebuild

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Pages reads the journal of a run for a replay, page by page, and pays for the page in hand out of Delivering: see
// package largevalue. A page is a mebibyte, or one entry, which may have several; there are as many replays as
// instances fit into memory.
//
// Invariant: a large page is in hand only while the replay has its instance and waits for nothing but the store and a
// slot to compute in. A turn whose entries are on two pages is paid for like the second one, so that the wait for that
// has nothing in hand.
type Pages struct {
	delivering *budget.Budget
	store      journal.EntryReader
	run        journal.RunKey
	paid       *budget.Permit // of the page in hand; nil if that is small
}

// NewPages has no page in hand yet.
func NewPages(delivering *budget.Budget, store journal.EntryReader, run journal.RunKey) *Pages {
	return &Pages{delivering: delivering, store: store, run: run}
}

// Read implements replay.Pages.
func (p *Pages) Read(ctx context.Context, after uint64) ([]journal.Entry, bool, error) {
	p.Release()
	total := p.delivering.Total()
	reading, err := p.delivering.Acquire(ctx, min(largevalue.PageCost, total/4))
	if err != nil {
		return nil, false, err
	}
	entries, more, err := p.store.Entries(ctx, p.run, after, journal.PageLimit{})
	bytes := largevalue.Bytes(entries)
	if err != nil || bytes <= largevalue.MaxInHand {
		reading.Release()
		return entries, more, err
	}
	p.paid = reading
	cost := min(largevalue.DeliveryCopies*bytes, total)
	if short := cost - reading.Bytes(); short > 0 && !reading.Grow(short) {
		// It is read once more when there is memory for it.
		reading.Release()
		if p.paid, err = p.delivering.Acquire(ctx, cost); err != nil {
			return nil, false, err
		}
		return p.store.Entries(ctx, p.run, after, journal.PageLimit{})
	}
	p.paid.ShrinkTo(cost)
	return entries, more, nil
}

// IsLarge tells whether the page in hand is paid for.
func (p *Pages) IsLarge() bool { return p.paid != nil }

// HandingOver is the context of a turn that is given entries of the page in hand. If those are the last, the page is
// given back as soon as the guest has them: it may compute for long.
func (p *Pages) HandingOver(ctx context.Context, reader *replay.Reader, due []journal.Entry) context.Context {
	if p == nil || p.paid == nil {
		return ctx
	}
	return wasm.WithTaken(ctx, func() {
		if reader.LetGo() {
			for i := range due {
				due[i].Value = nil
			}
			p.Release()
		}
	})
}

// Release says that no page is in hand any more.
func (p *Pages) Release() {
	p.paid.Release()
	p.paid = nil
}
