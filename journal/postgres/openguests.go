package postgres

import (
	"maps"
	"slices"
	"sync"
)

// openGuests keeps the transactions that are open, so that closing the store does not wait for an activity to end its
// own.
type openGuests struct {
	mu     sync.Mutex
	closed bool                  // guarded by mu, like txs
	txs    map[*guestTx]struct{} //
}

// add is false if the store is closed.
func (o *openGuests) add(t *guestTx) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	if o.txs == nil {
		o.txs = map[*guestTx]struct{}{}
	}
	o.txs[t] = struct{}{}
	return true
}

func (o *openGuests) remove(t *guestTx) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.txs, t)
}

// close lets no more in and returns the open ones.
func (o *openGuests) close() []*guestTx {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return slices.Collect(maps.Keys(o.txs))
}
