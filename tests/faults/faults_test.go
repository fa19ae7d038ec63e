package faults

import (
	"fmt"
	"math/rand/v2"
	"path"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

// bundle is an engine over a store that can be made to fail.
type bundle struct {
	*client
	store *failing
}

func setup(t *testing.T, module string) *bundle {
	healthyStore := harness.Store(t, "sqlite")
	store := &failing{Store: healthyStore}
	e := harness.Engine(t, store)
	harness.Push(t, e, path.Base(module), module)
	return &bundle{&client{t: t, engine: e, store: healthyStore}, store}
}

// failures are what can go wrong with each kind of call.
var failures = map[string][]mode{
	"commit":    {refused, lost, applied},
	"guest":     {refused, conflict, lost, applied},
	"begin":     {refused},
	"exec":      {refused},
	"child":     {refused},
	"deferreds": {refused},
	"entries":   {refused},
	"load":      {refused},
}

// mostCalls bounds how many of a kind are gone through: clients that ask again
// and again make as many as they like.
const mostCalls = 16

// TestEveryCallFailsOnce goes through all calls that a scenario makes of the
// store and has each fail, in every way in which it can. What the scenario sees
// must be what it sees of a store that is in order.
func TestEveryCallFailsOnce(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, s.module)
			b.store.fail(func(string) mode { return healthy })
			want := s.observe(b.client, "in-order")
			for call, modes := range failures {
				for _, m := range modes {
					for n := 1; n <= min(mostCalls, b.passes(s, call, m, n, want)); n++ {
					}
				}
			}
		})
	}
}

// passes has the n-th call fail and tells how many there were.
func (b *bundle) passes(s scenario, call string, m mode, n int, want string) int {
	var mu sync.Mutex
	seen := 0
	b.store.fail(func(c string) mode {
		if c != call {
			return healthy
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			return m
		}
		return healthy
	})
	key := fmt.Sprintf("%s-%s-%d", call, m, n)
	require.Equal(b.t, want, s.observe(b.client, key), "%s %d was %s", call, n, m)
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	b.store.decide = nil
	return b.store.calls[call]
}

// TestStorm has a fair part of all calls fail, at random, while several
// executions run at once.
func TestStorm(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, s.module)
			want := s.observe(b.client, "in-order")
			for seed := range uint64(3) {
				random := rand.New(rand.NewPCG(seed, 0))
				b.store.fail(func(call string) mode {
					modes := failures[call]
					if len(modes) == 0 || random.IntN(6) != 0 {
						return healthy
					}
					return modes[random.IntN(len(modes))]
				})
				var all sync.WaitGroup
				for i := range 4 {
					all.Go(func() {
						require.Equal(t, want, s.observe(b.client, fmt.Sprintf("storm-%d-%d", seed, i)), "seed %d", seed)
					})
				}
				all.Wait()
			}
		})
	}
}
