package kill9_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// payments is a payment service. It counts its calls by order and idempotency key.
type payments struct {
	url string

	mu      sync.Mutex
	charges map[string]map[string]int // guarded by mu; order → key → calls
	refunds map[string]map[string]int // guarded by mu
}

func startPayments(t *testing.T) *payments {
	p := &payments{charges: map[string]map[string]int{}, refunds: map[string]map[string]int{}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *payments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		OrderID string `json:"order_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		return // the host was killed while it sent the request: it took no effect
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.charges
	if r.URL.Path == "/refunds" {
		calls = p.refunds
	}
	if calls[call.OrderID] == nil {
		calls[call.OrderID] = map[string]int{}
	}
	calls[call.OrderID][r.Header.Get("Idempotency-Key")]++
	_, _ = w.Write([]byte(`{}`)) // the host may be gone
}
