// Package crash_test crashes the engine at every named fault point and compares
// the result with an undisturbed run.
package crash_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestCrashAtEveryBoundary proves the main promise: wherever the engine crashes,
// once the next one has finished the work, everything is as after an undisturbed
// run.
func TestCrashAtEveryBoundary(t *testing.T) {
	t.Parallel()
	runtime := newRuntime(t)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			reached := &pointSet{}
			t.Run("group", func(t *testing.T) {
				for _, v := range variants() {
					for _, s := range scenarios {
						t.Run(v.name+"/"+s.name, func(t *testing.T) {
							t.Parallel()
							crashEverywhere(t, newDriver(t, harness.Store(t, v.store), runtime, v.evict), l, s, reached)
						})
					}
				}
			})
			for _, point := range faultpoint.Points {
				require.True(t, reached.has(point), "no scenario reaches the fault point %s", point)
			}
		})
	}
}

func newRuntime(t *testing.T) *wasm.Runtime {
	runtime, err := wasm.New(t.Context(), wasm.Config{CacheDir: harness.CacheDir(t), Logger: harness.Logger(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	return runtime
}

// variant is a kind of store, with instances kept warm or evicted at once.
type variant struct {
	name, store string
	evict       bool
}

func variants() []variant {
	var all []variant
	for _, kind := range harness.StoreKinds {
		all = append(all, variant{kind, kind, false}, variant{kind + " evicting", kind, true})
	}
	return all
}

func crashEverywhere(t *testing.T, d *driver, l language, s scenario, reached *pointSet) {
	payments := countCharges(t)
	d.push(l, s, payments)

	d.arm("", 0)
	want := observe(t, d, s, "undisturbed")
	counts := d.counts()
	require.LessOrEqual(t, payments.most(), 1, "an undisturbed run has each effect once")

	for _, point := range d.points() {
		passings := counts[point]
		for _, n := range firstAndLast(passings) {
			reached.add(point)
			key := fmt.Sprintf("%s-%d", point, n)
			payments.reset()
			d.arm(point, n)
			require.Equal(t, want, observe(t, d, s, key), "after a crash at %s, passing %d of %d", point, n, passings)
			require.LessOrEqual(t, payments.most(), 2, "after a crash at %s an effect may happen once more", point)
		}
	}
	for _, n := range []int{1, 2} {
		// The second engine crashes as well, in the middle of its replay.
		reached.add(faultpoint.Replay)
		key := fmt.Sprintf("replay-%d", n)
		d.arm(faultpoint.TurnAfterCommit, 1)
		d.alsoCrashAt(faultpoint.Replay, n)
		require.Equal(t, want, observe(t, d, s, key), "after a crash during replay %d", n)
	}
}

// points are the fault points at which a variant crashes: all of them, or, if
// instances are evicted after every turn, those where that makes a difference.
func (d *driver) points() []string {
	if !d.evict {
		return faultpoint.Points
	}
	return []string{faultpoint.TurnBeforeCommit, faultpoint.TurnAfterCommit, faultpoint.TxAfterCommit, faultpoint.Evict, faultpoint.Replay}
}

func firstAndLast(n int) []int {
	switch n {
	case 0:
		return nil
	case 1:
		return []int{1}
	default:
		return []int{1, n}
	}
}

// observe runs a scenario and renders everything that it stored.
func observe(t *testing.T, d *driver, s scenario, key string) []string {
	row := s.run(d, key)
	checkJournal(t, d, row)
	seen := []string{outcome(t, key, row)}
	for _, q := range s.rows {
		seen = append(seen, render(t, key, d.query(q, key)))
	}
	if s.example == "fanout" {
		seen = append(seen, render(t, key, d.query(
			`SELECT step, COUNT(*) FROM fanout_effects WHERE execution = $1 GROUP BY step ORDER BY step`, row.Name())))
	}
	return seen
}

// checkJournal checks what must hold for every journal: an op is delivered at most
// once, and time does not run backwards.
func checkJournal(t *testing.T, d *driver, row *journal.Execution) {
	entries, err := d.store.Entries(t.Context(), row.ID, 0, 10_000)
	require.NoError(t, err)
	delivered, at, turn := map[uint32]bool{}, row.CreatedAt, uint64(0)
	for _, en := range entries {
		require.GreaterOrEqual(t, en.At, at, "entry %d", en.Seq)
		at = en.At
		if en.Kind == journal.Delivery {
			require.False(t, delivered[en.Op.Number], "op %d is delivered twice", en.Op.Number)
			require.GreaterOrEqual(t, en.Turn, turn, "entry %d", en.Seq)
			delivered[en.Op.Number], turn = true, en.Turn
		}
	}
}

// pointSet records which fault points the scenarios have reached.
type pointSet struct{ points sync.Map }

func (p *pointSet) add(point string)      { p.points.Store(point, true) }
func (p *pointSet) has(point string) bool { _, ok := p.points.Load(point); return ok }
