package paytest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Call is one call of the service.
type Call struct {
	// Path is /charges or /charges/refunds.
	Path string
	// Key is the idempotency key.
	Key string
	// Status is the answer.
	Status int
}

// Service takes money and gives it back.
type Service struct {
	// URL is where charges are taken: the payments_url of the example.
	URL string

	mu       sync.Mutex
	answer   func(Call) int  // guarded by mu
	calls    []Call          // guarded by mu
	done     map[string]bool // guarded by mu; by idempotency key
	taken    map[string]int  // guarded by mu; cents by order
	refunded map[string]int  // guarded by mu; cents by order
}

// Start starts the service for one test.
func Start(t *testing.T) *Service {
	t.Helper()
	s := &Service{done: map[string]bool{}, taken: map[string]int{}, refunded: map[string]int{}}
	s.answer = func(Call) int { return http.StatusOK }
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/charges"
	return s
}

// Answer sets the service's answer from now on. The service performs requests in any case: an
// answer may be lost after the money has moved.
func (s *Service) Answer(with func(Call) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = with
}

// Balance returns the amounts charged and refunded for an order, in cents.
func (s *Service) Balance(order string) (taken, refunded int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[order], s.refunded[order]
}

// Calls are all calls so far.
func (s *Service) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call{}, s.calls...)
}

// ServeHTTP answers one call.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Order string `json:"order_id"`
		Cents int    `json:"amount_cents"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Order == "" || r.Method != http.MethodPost {
		http.Error(w, "not a request", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Call{Path: r.URL.Path, Key: r.Header.Get("Idempotency-Key")}
	switch {
	case c.Key == "":
		c.Status = http.StatusBadRequest
	case c.Path != "/charges" && c.Path != "/charges/refunds":
		c.Status = http.StatusNotFound
	default:
		s.moveLocked(c, body.Order, body.Cents)
		c.Status = s.answer(c)
	}
	s.calls = append(s.calls, c)
	w.WriteHeader(c.Status)
}

// moveLocked moves the money, once for each idempotency key.
func (s *Service) moveLocked(c Call, order string, cents int) {
	if s.done[c.Key] {
		return
	}
	s.done[c.Key] = true
	if c.Path == "/charges" {
		s.taken[order] += cents
		return
	}
	s.refunded[order] = s.taken[order]
}
