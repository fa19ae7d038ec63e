package faults

import (
	"fmt"
	"math/rand/v2"
	"path"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
)

// bundle is an engine over a store that can be made to fail.
type bundle struct {
	*client
	store *failing
}

func setup(t *testing.T, kind, module string, evict bool) *bundle {
	healthyStore := harness.Store(t, kind)
	store := &failing{Store: healthyStore}
	e := engine(t, store, func(c *host.Config) { c.EvictAlways = evict })
	harness.Push(t, e, path.Base(module), module)
	return &bundle{&client{t: t, engine: e, store: healthyStore}, store}
}

// failures are the calls of the store, and the ways in which each can fail.
var failures = map[string][]mode{
	"commit":    {refused, applied, lost},
	"guest":     {lost, applied, refused, conflict},
	"begin":     {refused},
	"exec":      {refused},
	"child":     {refused},
	"deferreds": {refused},
	"entries":   {refused},
	"load":      {refused},
}

// most is how many calls of a kind the test lets fail. Commits differ from each
// other, reads do not, and clients that retry make many of them.
func most(call string) int {
	if call == "commit" || call == "guest" {
		return 16
	}
	return 3
}

// TestEveryCallFailsOnce lets each call that a scenario makes to the store fail, in
// every possible way. The scenario must see the same as with a healthy store.
// Instances are evicted after every turn, so that everything is also loaded,
// replayed and dropped.
func TestEveryCallFailsOnce(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		if s.stormOnly {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "sqlite", s.module, true)
			b.store.fail(func(string) mode { return healthy })
			want := s.observe(b.client, "in-order")
			for call, modes := range failures {
				// The other modes return another error, but the engine must react in the
				// same way; TestStorm covers them.
				for _, m := range modes[:min(2, len(modes))] {
					for n := 1; n <= min(most(call), b.passes(s, call, m, n, want)); n++ {
					}
				}
			}
		})
	}
}

// passes lets the n-th call fail and returns how many calls there were.
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

// TestStorm lets one in six calls fail, at random, while several executions run at
// once.
func TestStorm(t *testing.T) {
	t.Parallel()
	for _, kind := range harness.StoreKinds {
		for _, s := range scenarios {
			t.Run(kind+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, kind, s.module, false)
				want := s.observe(b.client, "in-order")
				for seed := range uint64(3) {
					b.storm(s, seed, want)
				}
			})
		}
	}
}

// storm runs a scenario several times at once; the seed decides which calls fail.
func (b *bundle) storm(s scenario, seed uint64, want string) {
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
			require.Equal(b.t, want, s.observe(b.client, fmt.Sprintf("storm-%d-%d", seed, i)), "seed %d", seed)
		})
	}
	all.Wait()
}
