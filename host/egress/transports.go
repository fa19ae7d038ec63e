package egress

import (
	"container/list"
	"net/http"
	"sync"
)

// maxTransports bounds how many policies keep connections open. Beyond it the one unused for longest loses its idle
// connections.
const maxTransports = 64

// transports holds one transport a policy. Connections are not shared between policies: a connection that was opened
// under a grant of a private range must not serve a deployment without it.
type transports struct {
	make func(*Policy) *http.Transport

	mu     sync.Mutex
	byID   map[string]*list.Element // of *entry; guarded by mu
	recent *list.List               // most recently used first; guarded by mu
}

type entry struct {
	id        string
	transport *http.Transport
}

func newTransports(newTransport func(*Policy) *http.Transport) *transports {
	return &transports{make: newTransport, byID: map[string]*list.Element{}, recent: list.New()}
}

func (t *transports) of(p *Policy) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.byID[p.id]; ok {
		t.recent.MoveToFront(e)
		return e.Value.(*entry).transport
	}
	if t.recent.Len() >= maxTransports {
		last := t.recent.Back()
		t.recent.Remove(last)
		delete(t.byID, last.Value.(*entry).id)
		last.Value.(*entry).transport.CloseIdleConnections()
	}
	e := &entry{p.id, t.make(p)}
	t.byID[p.id] = t.recent.PushFront(e)
	return e.transport
}

func (t *transports) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for e := t.recent.Front(); e != nil; e = e.Next() {
		e.Value.(*entry).transport.CloseIdleConnections()
	}
}
