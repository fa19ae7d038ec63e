package mailbox

import "github.com/cruster/cruster/journal"

// maxRecent is how many origins an entity in memory remembers.
const maxRecent = 256

// recent remembers the last origins that an entity has left receipts of, so that a call that is repeated soon does not
// make the commit of its batch fail.
type recent struct {
	known map[journal.Origin]struct{}
	ring  []journal.Origin // once it is full
	next  int
}

func (r *recent) has(origin journal.Origin) bool {
	_, known := r.known[origin]
	return known
}

func (r *recent) add(origin journal.Origin) {
	if r.has(origin) {
		return
	}
	if r.known == nil {
		r.known = map[journal.Origin]struct{}{}
	}
	if len(r.ring) < maxRecent {
		r.ring = append(r.ring, origin)
	} else {
		delete(r.known, r.ring[r.next])
		r.ring[r.next] = origin
		r.next = (r.next + 1) % maxRecent
	}
	r.known[origin] = struct{}{}
}
