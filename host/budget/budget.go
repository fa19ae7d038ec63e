package budget

import (
	"context"
	"slices"
	"sync"

	"github.com/cruster/cruster/abi"
)

// Budget is a number of bytes that permits are given out of.
type Budget struct {
	total int64

	mu      sync.Mutex
	reclaim func() bool // guarded by mu
	used    int64       // guarded by mu
	waiting []*request  // guarded by mu; the next one first
}

// request waits for its bytes.
type request struct {
	bytes int64
	// look is sent to when it is worth another try. It has room for one.
	look chan struct{}
}

// New makes a budget of so many bytes.
func New(total int64) *Budget {
	return &Budget{total: total, reclaim: func() bool { return false }}
}

// ReclaimBy sets the function that frees memory when there is none left. It reports whether it has given back a permit.
// It is called without a lock of the budget.
func (b *Budget) ReclaimBy(reclaim func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reclaim = reclaim
}

// Total is the budget.
func (b *Budget) Total() int64 { return b.total }

// Used is how much of it is given out.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Waiting counts the requests that wait.
func (b *Budget) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// Acquire waits for a permit. It fails if ctx ends first, and at once if the budget as a whole is too small.
func (b *Budget) Acquire(ctx context.Context, bytes int64) (*Permit, error) {
	if bytes > b.total {
		never := abi.Errorf(
			abi.CodeGuestMemory, "%d KiB of memory are needed at once, and the host has a budget of %d KiB", bytes>>10,
			b.total>>10,
		).
			WithHint("Start the host with a larger --memory; instances have more than half of it.")
		never.Retryable = false
		return nil, never
	}
	r := &request{bytes: bytes, look: make(chan struct{}, 1)}
	b.enqueue(r)
	for !b.serve(r) {
		if b.isNext(r) && b.free() {
			continue
		}
		select {
		case <-r.look:
		case <-ctx.Done():
			b.withdraw(r)
			return nil, ctx.Err()
		}
	}
	return b.granted(bytes), nil
}

// TryAcquire is a permit if there is room for it as it is, and no one waits for that. It frees nothing.
func (b *Budget) TryAcquire(bytes int64) (*Permit, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 || b.used+bytes > b.total {
		return nil, false
	}
	b.used += bytes
	return b.granted(bytes), true
}

// Empty is a permit of no bytes, to be grown.
func (b *Budget) Empty() *Permit { return b.Part(b.total) }

// Part is a permit of no bytes, to be grown to so many at most: its holder has other permits of the budget, and must
// not wait for the memory of those.
func (b *Budget) Part(most int64) *Permit { return &Permit{budget: b, most: most} }

func (b *Budget) granted(bytes int64) *Permit { return &Permit{budget: b, bytes: bytes, most: b.total} }

// Look has the request whose turn it is try again to free memory: something has come to rest.
func (b *Budget) Look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lookLocked()
}

func (b *Budget) lookLocked() {
	if len(b.waiting) > 0 {
		select {
		case b.waiting[0].look <- struct{}{}:
		default:
		}
	}
}

func (b *Budget) enqueue(r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, r)
}

// serve gives the request its bytes, if it is its turn and they are there.
func (b *Budget) serve(r *request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting[0] != r || b.used+r.bytes > b.total {
		return false
	}
	b.waiting[0] = nil
	b.waiting = b.waiting[1:]
	b.used += r.bytes
	b.lookLocked()
	return true
}

func (b *Budget) isNext(r *request) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting[0] == r
}

func (b *Budget) free() bool {
	b.mu.Lock()
	reclaim := b.reclaim
	b.mu.Unlock()
	return reclaim()
}

func (b *Budget) withdraw(r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(w *request) bool { return w == r })
	b.lookLocked()
}

// Permit is a part of a budget. Its methods may be called from any goroutine.
type Permit struct {
	budget *Budget
	most   int64 // that it may become
	bytes  int64 // guarded by the budget's mu; -1 once it was given back
	aside  int64 // guarded by the budget's mu; of the bytes, the first to grow into
	wanted int64 // guarded by the budget's mu; the largest size that it was refused
}

// Wanted is how large the permit was to become: its size without the bytes set aside, or more if it was refused more.
// It is 0 on nil.
func (p *Permit) Wanted() (bytes int64, refused bool) {
	if p == nil {
		return 0, false
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	return max(p.wanted, p.bytes-p.aside), p.wanted > 0
}

// SetAside says that so many more bytes of the permit are for its growth: they were waited
// for, so that growing does not fail.
func (p *Permit) SetAside(bytes int64) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.aside = min(p.aside+bytes, max(p.bytes, 0))
}

// DropAside gives back so many bytes of that, or as many as are left. It may be called on nil.
func (p *Permit) DropAside(bytes int64) {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	if p.bytes < 0 || p.aside == 0 {
		return
	}
	bytes = min(bytes, p.aside)
	p.bytes -= bytes
	p.budget.used -= bytes
	p.aside -= bytes
	p.budget.lookLocked()
}

// Grow makes the permit larger. It reports false if there is no room, although all that could be freed was freed. It
// does not wait.
func (p *Permit) Grow(bytes int64) bool {
	for !p.tryGrow(bytes) {
		if !p.CouldGrow(bytes) || !p.budget.free() {
			return p.tryGrow(bytes) || p.refuse(bytes) // another may have given back meanwhile
		}
	}
	return true
}

func (p *Permit) tryGrow(bytes int64) bool {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	aside := min(p.aside, bytes)
	more := bytes - aside
	if p.bytes < 0 || p.bytes+more > p.most || p.budget.used+more > p.budget.total {
		return false
	}
	p.aside -= aside
	p.bytes += more
	p.budget.used += more
	return true
}

func (p *Permit) refuse(bytes int64) bool {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.wanted = max(p.wanted, p.bytes-p.aside+bytes)
	return false
}

// CouldGrow tells whether the permit could be larger by so many bytes if there were no others.
func (p *Permit) CouldGrow(bytes int64) bool {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	return max(p.bytes, 0)-p.aside+bytes <= p.most
}

// Shrink gives a part of the permit back.
func (p *Permit) Shrink(bytes int64) {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	bytes = min(bytes, p.bytes)
	if bytes <= 0 {
		return
	}
	p.bytes -= bytes
	p.budget.used -= bytes
	p.budget.lookLocked()
}

// ShrinkTo gives back all of the permit but so many bytes.
func (p *Permit) ShrinkTo(bytes int64) { p.Shrink(p.Bytes() - bytes) }

// Bytes is the size of the permit; 0 once it was given back.
func (p *Permit) Bytes() int64 {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	return max(p.bytes, 0)
}

// Release gives the permit back. It may be called more than once, and on nil.
func (p *Permit) Release() {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	if p.bytes < 0 {
		return
	}
	p.budget.used -= p.bytes
	p.bytes = -1
	p.budget.lookLocked()
}
