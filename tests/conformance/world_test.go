package conformance

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// outside is an HTTP server that the deployments may call. All variants share one server, so that requests that contain
// its address are the same everywhere.
type outside struct {
	url string

	mu    sync.Mutex
	gates map[string]chan struct{} // guarded by mu; closed when the gate is open
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	world := &outside{gates: map[string]chan struct{}{}}
	server := httptest.NewServer(world)
	world.url = server.URL
	t.Cleanup(server.Close)
	return world
}

// ServeHTTP answers requests that have a key, once the gate that the request names is open.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/missing" || r.Header.Get("X-Key") == "" {
		http.Error(w, "not here", http.StatusNotFound)
		return
	}
	if gate := r.Header.Get("X-Gate"); gate != "" {
		o.pass(r.Context(), gate)
	}
	w.Header().Set("X-Answer", r.Method)
	_, _ = w.Write([]byte("pong"))
}

func (o *outside) pass(ctx context.Context, gate string) {
	select {
	case <-o.gate(gate):
	case <-ctx.Done():
	}
}

// open opens a gate of an execution. It stays open.
func (o *outside) open(b *testBundle, execution, name string) {
	close(o.gate(b.variant + " " + execution + " " + name))
}

func (o *outside) gate(name string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gates[name] == nil {
		o.gates[name] = make(chan struct{})
	}
	return o.gates[name]
}
