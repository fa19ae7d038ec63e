package lock

import (
	"slices"
	"sync"

	"github.com/cruster/cruster/journal"
)

// Holders knows which entities in memory a section holds, or is about to: they are told when it
// ends.
type Holders struct {
	mu  sync.Mutex
	ids map[journal.Caller][]journal.ID // guarded by mu
}

func (h *Holders) add(step journal.Caller, id journal.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ids == nil {
		h.ids = map[journal.Caller][]journal.ID{}
	}
	if !slices.Contains(h.ids[step], id) {
		h.ids[step] = append(h.ids[step], id)
	}
}

func (h *Holders) remove(step journal.Caller, id journal.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(h.ids[step]), func(other journal.ID) bool { return other == id })
	if len(left) > 0 {
		h.ids[step] = left
	} else {
		delete(h.ids, step)
	}
}

// Of are the entities of a section.
func (h *Holders) Of(step journal.Caller) []journal.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ids[step])
}

// Len counts the sections that hold entities.
func (h *Holders) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ids)
}
