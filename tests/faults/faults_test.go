package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
)

// reading are the ways in which a call that changes nothing can fail.
var reading = []mode{refused, slow}

// failures are the calls of the store, and the ways in which each can fail. A panic of the store in other calls is the
// fault of one execution, and is tested there.
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

// most is how many calls of a kind the test lets fail. Commits differ from each other, reads do not, and clients that
// retry make many of them.
func most(call string) int {
	if call == "commit" || call == "guest" {
		return 16
	}
	return 2
}

// failure is the n-th call of a kind, and how it fails.
type failure struct {
	call string
	mode mode
	n    int
}

// failuresOf chooses failures for scenarios that make so many calls of each kind. Each scenario has each way to
// fail, and so has the n-th call of a kind, though not in each scenario; in full they have all.
func failuresOf(made []map[string]int) [][]failure {
	all := make([][]failure, len(made))
	for call, modes := range failures {
		possible := func(c []int) bool { return c[1] < made[c[0]][call] }
		for _, c := range extenttest.Possible(possible, len(made), most(call), len(modes)) {
			all[c[0]] = append(all[c[0]], failure{call, modes[c[2]], c[1] + 1})
		}
	}
	return all
}

// TestEveryCallFailsOnce lets calls that scenarios make to the store fail, one in a run, as [failuresOf] chooses them.
// The scenario must see the same as with a healthy store. Instances are evicted after every turn, so that everything is
// also loaded, replayed and dropped. A way to fail that no scenario comes to fails the test.
func TestEveryCallFailsOnce(t *testing.T) {
	t.Parallel()
	tried := slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return s.stormOnly })
	clients, made := make([]*client, len(tried)), make([]map[string]int, len(tried))
	for i, s := range tried {
		clients[i] = setup(t, "sqlite", s.module, true)
		clients[i].failing.fail(func(string) mode { return healthy })
		require.Equal(t, s.want, s.observe(clients[i], "in-order"))
		made[i] = clients[i].failing.counts()
	}
	chosen := failuresOf(made)
	var failed sync.Map // "call mode" → true
	t.Run("scenarios", func(t *testing.T) {
		for i, s := range tried {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				c := clients[i]
				c.t = t
				for _, f := range chosen[i] {
					if c.failsOnce(s, f.call, f.mode, f.n) {
						failed.Store(f.call+" "+string(f.mode), true)
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

// failsOnce runs a scenario in which the n-th call of a kind fails. It reports whether there was such a call.
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

// TestStorm lets one in six calls fail, at random, while several executions run at once. Each scenario meets each store
// and each seed, and in full each seed on each store.
func TestStorm(t *testing.T) {
	t.Parallel()
	const seeds = 3
	stormy := slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return s.alone })
	chosen := map[[2]int][]uint64{}
	for _, c := range extenttest.Combinations(len(stormy), len(harness.StoreKinds), seeds) {
		place := [2]int{c[0], c[1]}
		chosen[place] = append(chosen[place], uint64(c[2]))
	}
	for place, seeds := range chosen {
		s, kind := stormy[place[0]], harness.StoreKinds[place[1]]
		t.Run(kind+"/"+s.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, kind, s.module, false)
			for _, seed := range seeds {
				c.storm(s, seed)
			}
		})
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
