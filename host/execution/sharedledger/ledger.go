package sharedledger

import (
	"context"
	"sync"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/journal"
)

// Ledger is the ledger of a run. Transactions of activities use it beside the run: they reserve their numbers there.
type Ledger struct {
	mu sync.Mutex
	l  *ledger.Ledger // guarded by mu
}

// New is an empty ledger.
func New() *Ledger { return &Ledger{l: ledger.New()} }

// With lets f use the ledger.
func (s *Ledger) With(f func(l *ledger.Ledger)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.l)
}

// Replace begins the ledger of another run.
func (s *Ledger) Replace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.l = ledger.New()
}

// Look returns a value that f reads from the ledger.
func Look[T any](s *Ledger, f func(l *ledger.Ledger) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(s.l)
}

// Reserve gives an activity's transaction its place in the journal. It reports false if the op is
// no longer waited for, or if ctx, its task's context, has ended: then another task may be at work
// for the same op.
func (s *Ledger) Reserve(
	ctx context.Context, step journal.StepID, value []byte, attempts uint32, now int64,
) (journal.Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return journal.Entry{}, false
	}
	return s.l.Reserve(step, value, attempts, now)
}
