package entity

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// exclusion is runs that transfer between entities under locks, beside clients that call the same entities, on hosts
// that crash.
type exclusion struct {
	*fixture
	host    sync.RWMutex // held to read while something uses the host
	mu      sync.Mutex
	clients int64    // guarded by mu; the additions of clients
	broken  []string // guarded by mu; the violations
}

// accounts are in the order in which they are locked.
func accounts() []string {
	keys := []string{"a", "b", "c", "d"}
	slices.SortFunc(keys, func(x, y string) int {
		i, j := refTo(x).ID(), refTo(y).ID()
		return bytes.Compare(i[:], j[:])
	})
	return keys
}

func (m *exclusion) now() *Entities {
	m.host.RLock()
	defer m.host.RUnlock()
	return m.x
}

// call calls until there is an answer.
func (m *exclusion) call(req call.Request) int64 {
	for {
		o, err := m.now().Caller.Call(context.Background(), req)
		if err != nil {
			if abi.CodeOf(err) == abi.CodeNotLocked {
				m.isBroken("a call in a section was refused: " + err.Error())
				return 0
			}
			continue
		}
		var n int64
		if abi.Unmarshal(o.Value, &n) != nil {
			m.isBroken("not a number")
		}
		return n
	}
}

func (m *exclusion) isBroken(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = append(m.broken, what)
}

// update writes the row of a run.
func (m *exclusion) update(w *workflow, u journal.Update) {
	m.host.RLock()
	defer m.host.RUnlock()
	w.update(u)
}

// transfers is the life of runs that lock two accounts or more, one after the other: some give up
// while they wait, some end without a word.
func (m *exclusion) transfers(name string, sections int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	m.host.RLock()
	w := m.newWorkflow(name)
	m.host.RUnlock()
	for n := range sections {
		w.step.Step = journal.StepID{byte(n + 1)}
		m.update(w, journal.Update{State: journal.Running, Section: w.step.Step})
		keys := accounts()
		for random.IntN(2) == 0 && len(keys) > 2 {
			i := random.IntN(len(keys))
			keys = slices.Delete(keys, i, i+1)
		}
		if m.lockAll(w, keys, random.IntN(4) == 0) {
			m.transfer(w, keys[0], keys[len(keys)-1], int64(random.IntN(100)))
		}
		m.endSection(w, random, n)
	}
}

// lockAll locks, or gives up on the way. It reports whether all is locked.
func (m *exclusion) lockAll(w *workflow, keys []string, givesUp bool) bool {
	for _, key := range keys {
		ctx, cancel := context.WithCancel(context.Background())
		if givesUp && key == keys[len(keys)-1] {
			cancel()
		}
		err := m.now().Caller.Lock(ctx, w.step, call.Patience{}, refTo(key))
		for err != nil && ctx.Err() == nil {
			err = m.now().Caller.Lock(ctx, w.step, call.Patience{}, refTo(key))
		}
		cancel()
		if err != nil {
			return false
		}
	}
	return true
}

// transfer moves an amount, in steps that would show if another came in between.
func (m *exclusion) transfer(w *workflow, from, to string, amount int64) {
	source, target := m.call(w.asks(add(from, 0))), m.call(w.asks(operation(to, "get")))
	if left := m.call(w.asks(add(from, -amount))); left != source-amount {
		m.isBroken("another has changed " + from)
	}
	if has := m.call(w.asks(add(to, amount))); has != target+amount {
		m.isBroken("another has changed " + to)
	}
}

// endSection ends a section in one of the possible ways. A finished run is followed by another.
func (m *exclusion) endSection(w *workflow, random *rand.Rand, n int) {
	way := random.IntN(4)
	u := journal.Update{State: journal.Running}
	if way == 3 {
		u = journal.Update{State: journal.Failed, FinishedAt: 1}
	}
	m.update(w, u)
	if way > 0 {
		m.now().Unlocked(w.step)
	}
	if way == 3 {
		m.host.RLock()
		ops := w.ops
		*w = *m.newWorkflow(strconv.Itoa(n) + w.step.Run.String())
		w.ops = ops
		m.host.RUnlock()
	}
}

// TestMutualExclusion has runs transfer under locks beside clients, while hosts crash and commits
// go astray: no one comes in between, nothing is lost, and all come to an end.
func TestMutualExclusion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		runs := rapid.IntRange(2, 5).Draw(rt, "runs")
		clients := rapid.IntRange(0, 3).Draw(rt, "clients")
		kind := "memory"                                           // which is fast; a real one now and then
		if n := rapid.IntRange(0, 15).Draw(rt, "store"); n >= 14 { // rapid prefers small numbers
			kind = stores[n-14]
		}
		synctest.Test(t, func(t *testing.T) { checkExclusion(t, kind, runs, clients, seed) })
	})
}

func checkExclusion(t *testing.T, kind string, runs, clients int, seed uint64) {
	m := &exclusion{fixture: newFixture(t, kind)}
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() { m.transfers("w"+strconv.Itoa(i), 4, seed+uint64(i)) })
	}
	for i := range clients {
		random := rand.New(rand.NewPCG(seed, 100+uint64(i)))
		all.Go(func() {
			for n := range 10 {
				m.call(by(add(accounts()[random.IntN(4)], 1), journal.Origin{byte(i + 1), byte(n), 9}))
				m.mu.Lock()
				m.clients++
				m.mu.Unlock()
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	disturb(m.fixture, &m.host, over)
	require.Empty(t, m.broken)
	sum := int64(0)
	for _, key := range accounts() {
		n, _ := m.stored(key)
		sum += n
	}
	require.Equal(t, m.clients, sum)
	locks, _, _, err := m.store.Locks(t.Context(), journal.LockFilter{})
	require.NoError(t, err)
	require.Empty(t, locks, "no lock is left over")
}
