package faults

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

// reading are the ways in which a call that changes nothing can fail.
var reading = []mode{refused, slow}

// failures are the calls of the store, and the ways in which each can fail. A panic
// of the store in other calls is the fault of one execution, and is tested there.
var failures = map[string][]mode{
	"begin":       reading,
	"callee":      reading,
	"claim":       {refused, applied, lost, slow, late},
	"commit":      {refused, applied, lost, slow, late, panicked},
	"deploy":      {refused, applied, lost, slow, late},
	"deployment":  reading,
	"deployments": reading,
	"due":         reading,
	"entries":     reading,
	"exec":        {refused, conflict, slow},
	"guest":       {refused, applied, lost, slow, late, conflict},
	"inbox":       reading,
	"list":        reading,
	"load":        reading,
	"message":     reading,
	"module":      reading,
	"ping":        reading,
	"query":       {refused, conflict, slow},
	"rollback":    {refused},
	"sweep":       {refused, applied, lost, slow},
}

// most is how many calls of a kind the test lets fail. Commits differ from each
// other, reads do not, and clients that retry make many of them.
func most(call string) int {
	if call == "commit" || call == "guest" {
		return 16
	}
	return 2
}

// TestEveryCallFailsOnce lets each call that a scenario makes to the store fail, in
// every possible way. The scenario must see the same as with a healthy store.
// Instances are evicted after every turn, so that everything is also loaded,
// replayed and dropped. A way to fail that no scenario comes to fails the test.
func TestEveryCallFailsOnce(t *testing.T) {
	t.Parallel()
	var failed sync.Map // "call mode" → true
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			if s.stormOnly {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				c := setup(t, "sqlite", s.module, true)
				c.failing.fail(func(string) mode { return healthy })
				require.Equal(t, s.want, s.observe(c, "in-order"))
				made := c.failing.counts()
				for call, modes := range failures {
					for _, m := range modes {
						for n := 1; n <= min(made[call], most(call)); n++ {
							if c.failsOnce(s, call, m, n) {
								failed.Store(call+" "+string(m), true)
							}
						}
					}
				}
			})
		}
	})
	for call, modes := range failures {
		for _, m := range modes {
			_, ok := failed.Load(call + " " + string(m))
			require.True(t, ok, "no scenario makes the call %q, so it was never %s", call, m)
		}
	}
}

// failsOnce runs a scenario in which the n-th call of a kind fails. It reports
// whether there was such a call.
func (c *client) failsOnce(s scenario, call string, m mode, n int) bool {
	var mu sync.Mutex
	seen := 0
	c.failing.fail(func(made string) mode {
		if made != call {
			return healthy
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			return m
		}
		return healthy
	})
	require.Equal(c.t, s.want, s.observe(c, fmt.Sprintf("%s-%s-%d", call, m, n)), "%s %d was %s", call, n, m)
	return c.failing.counts()[call] >= n
}

// TestStorm lets one in six calls fail, at random, while several executions run at
// once.
func TestStorm(t *testing.T) {
	t.Parallel()
	for _, kind := range harness.StoreKinds {
		for _, s := range scenarios {
			if s.alone {
				continue
			}
			t.Run(kind+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				c := setup(t, kind, s.module, false)
				for seed := range uint64(3) {
					c.storm(s, seed)
				}
			})
		}
	}
}

// storm runs a scenario several times at once; the seed decides which calls fail.
func (c *client) storm(s scenario, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	c.failing.fail(func(call string) mode {
		modes := failures[call]
		if len(modes) == 0 || random.IntN(6) != 0 {
			return healthy
		}
		return modes[random.IntN(len(modes))]
	})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			require.Equal(c.t, s.want, s.observe(c, fmt.Sprintf("storm-%d-%d", seed, i)), "seed %d", seed)
		})
	}
	all.Wait()
}
