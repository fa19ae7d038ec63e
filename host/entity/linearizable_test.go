package entity

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// event is an operation of a counter, and when it began and ended.
type event struct {
	read       bool
	value      int64
	began, end int64
}

// checkLinearizable tells of a counter that is only ever increased by one whether all saw one order of operations, and
// one in which each is between its beginning and its end. The values give the order: an increase returns another value
// than all others, and a read comes behind the increase whose value it returns.
func checkLinearizable(t *testing.T, events []event) {
	t.Helper()
	increased := map[int64]bool{}
	for _, e := range events {
		if !e.read {
			require.False(t, increased[e.value], "two operations have seen the same state: %d", e.value)
			increased[e.value] = true
		}
	}
	for n := range int64(len(increased)) {
		require.True(t, increased[n+1], "an operation has seen a state that none has left: %d is missing", n+1)
	}
	for _, a := range events {
		for _, b := range events {
			if a.end < b.began {
				behind := a.value < b.value || b.read && a.value == b.value
				require.True(t, behind, "%+v is over before %+v, and comes behind it", a, b)
			}
		}
	}
}

// TestLinearizable has clients change and read one entity while hosts crash and commits go astray in all ways. A client
// repeats its request until it is answered.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		const clients, each = 6, 40
		f := newFixture(t, kind)
		var host sync.RWMutex // held to read while a client uses the host
		var clock atomic.Int64
		var mu sync.Mutex
		var events []event
		perform := func(req call.Request) (abi.Outcome, error) {
			host.RLock()
			x := f.x
			host.RUnlock()
			return x.Caller.Call(context.Background(), req)
		}
		var all sync.WaitGroup
		for client := range clients {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			all.Go(func() {
				for i := range each {
					req := by(add("a", 1), journal.Origin{byte(client + 1), byte(i)})
					if random.IntN(3) == 0 {
						req = operation("a", "get")
					}
					e := event{read: req.Operation == "get", began: clock.Add(1)}
					o, err := perform(req)
					for err != nil {
						o, err = perform(req)
					}
					e.end = clock.Add(1)
					if abi.Unmarshal(o.Value, &e.value) != nil {
						t.Errorf("not a number: %v", o)
					}
					mu.Lock()
					events = append(events, e)
					mu.Unlock()
				}
			})
		}
		over := make(chan struct{})
		go func() { all.Wait(); close(over) }()
		disturb(f, &host, over)
		checkLinearizable(t, events)
	})
}

// disturb lets commits go astray, and crashes hosts, until over is closed.
func disturb(f *fixture, host *sync.RWMutex, over <-chan struct{}) {
	random := rand.New(rand.NewPCG(2, 3))
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case <-f.began: // so that there is progress
		}
		mishaps := []string{"lose", "drop", "fail", "delay", "fail after late", "", ""}
		f.commits.script(mishaps[random.IntN(len(mishaps))], mishaps[random.IntN(len(mishaps))])
		if n%40 == 39 {
			host.Lock()
			f.crash()
			host.Unlock()
		}
	}
}
