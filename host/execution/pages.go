package execution

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// pages reads the journal of a run for a replay, page by page, and pays for the page in hand out of Delivering: see
// input.go. A page is a mebibyte, or one entry, which may have several; there are as many replays as instances fit into
// memory.
//
// Invariant: a large page is in hand only while the replay has its instance and waits for nothing but the store and a
// slot to compute in. A turn whose entries are on two pages is paid for like the second one, so that the wait for that
// has nothing in hand.
type pages struct {
	deps *Deps
	run  journal.RunKey
	paid *budget.Permit // of the page in hand; nil if that is small
}

// newPages has no page in hand yet.
func newPages(deps *Deps, run journal.RunKey) *pages { return &pages{deps: deps, run: run} }

// read implements replay.Pages.
func (p *pages) read(ctx context.Context, after uint64) ([]journal.Entry, bool, error) {
	p.release()
	total := p.deps.Delivering.Total()
	reading, err := p.deps.Delivering.Acquire(ctx, min(loadCost, total/4))
	if err != nil {
		return nil, false, err
	}
	entries, more, err := p.deps.Store.Entries(ctx, p.run, after, journal.PageLimit{})
	bytes := bytesOf(entries)
	if err != nil || bytes <= maxInHand {
		reading.Release()
		return entries, more, err
	}
	p.paid = reading
	cost := min(deliveryCopies*bytes, total)
	if short := cost - reading.Bytes(); short > 0 && !reading.Grow(short) {
		// It is read once more when there is memory for it.
		reading.Release()
		if p.paid, err = p.deps.Delivering.Acquire(ctx, cost); err != nil {
			return nil, false, err
		}
		return p.deps.Store.Entries(ctx, p.run, after, journal.PageLimit{})
	}
	p.paid.ShrinkTo(cost)
	return entries, more, nil
}

// isLarge tells whether the page in hand is paid for.
func (p *pages) isLarge() bool { return p.paid != nil }

// handingOver is the context of a turn that is given entries of the page in hand. If those are the last, the page is
// given back as soon as the guest has them: it may compute for long.
func (p *pages) handingOver(ctx context.Context, reader *replay.Reader, due []journal.Entry) context.Context {
	if p == nil || p.paid == nil {
		return ctx
	}
	return wasm.WithTaken(ctx, func() {
		if reader.LetGo() {
			for i := range due {
				due[i].Value = nil
			}
			p.release()
		}
	})
}

// deliverFrom delivers the entries of a page reader.
func (b *rebuilder) deliverFrom(
	ctx context.Context, p *pages, reader *replay.Reader,
) func([]journal.Entry) (guest.Turn, error) {
	return func(due []journal.Entry) (guest.Turn, error) {
		return b.instance.deliver(p.handingOver(ctx, reader, due), b.row.Namespace, due)
	}
}

// release says that no page is in hand any more.
func (p *pages) release() {
	p.paid.Release()
	p.paid = nil
}

func bytesOf(entries []journal.Entry) (bytes int64) {
	for i := range entries {
		bytes += op.Bytes(entries[i].Value, entries[i].Error)
	}
	return bytes
}
