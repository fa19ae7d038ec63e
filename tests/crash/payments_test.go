package crash_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// charges counts the calls of the payment service by idempotency key.
type charges struct {
	url string
	mu  sync.Mutex
	n   map[string]int // guarded by mu
}

func countCharges(t *testing.T) *charges {
	c := &charges{n: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n[r.Header.Get("Idempotency-Key")]++
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *charges) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.n)
}

// seen tells how many idempotency keys there were, and how often the most frequent was used.
func (c *charges) seen() (keys, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.n {
		most = max(most, n)
	}
	return len(c.n), most
}
