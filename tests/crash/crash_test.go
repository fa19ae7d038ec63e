// Package crash_test crashes hosts at every named fault point and compares the result with an undisturbed run: engines
// in this process, at every point of every scenario, and the real binary, which kills itself with SIGKILL.
// testdata/points says which scenario reaches which point, and testdata/outcomes the outcome of each. Start reading at
// campaign_test.go.
package crash_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestCrashAtEveryBoundary proves the main promise: wherever the engine crashes, once the next one has finished the
// work, everything is as after an undisturbed run.
func TestCrashAtEveryBoundary(t *testing.T) {
	t.Parallel()
	runtime, reach := newRuntime(t), readReach(t)
	for _, r := range settings() {
		v, s := r.variant, r.scenario
		t.Run(v.name()+"/"+s.name, func(t *testing.T) {
			t.Parallel()
			onStores(s, reach.of(s, v.evict), faultpoint.Points, func(points []string) {
				store := harness.Store(t, v.store)
				es := &engines{t: t, store: store, runtime: runtime, evict: v.evict}
				c := newCampaign(t, v.language, s, reach.of(s, v.evict), es.launch)
				c.firstToo = !v.evict
				if !s.deploys || points == nil {
					c.undisturbed(es.counts)
					c.crashInReplays()
				}
				c.crashAtAll(points)
				c.d.stop()
				c.compare(store)
			})
		})
	}
}

// TestTheBinaryKillsItself does the same with real processes, which kill themselves at each named point: once, in one
// variant or the other, and in full at each passing in all variants.
func TestTheBinaryKillsItself(t *testing.T) {
	t.Parallel()
	reach := readReach(t)
	for _, v := range processVariants() {
		for _, s := range scenarios {
			points := reach.share(s, v)
			if extenttest.Full() {
				points = faultpoint.Points
			}
			if len(points) == 0 {
				continue
			}
			t.Run(v.name()+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				onStores(s, reach.of(s, v.evict), points, func(points []string) {
					flags, open := storeOfProcesses(t, v.store)
					c := newCampaign(
						t, v.language, s, reach.of(s, v.evict), (&processes{t: t, store: flags, evict: v.evict}).launch,
					)
					c.crashAtAll(points)
					if extenttest.Full() {
						c.crashInReplays()
					}
					c.d.stop()
					c.compare(open())
				})
			})
		}
	}
}

// onStores runs a campaign with all points on one store. A first deployment is made once a store: such a scenario has a
// store for each point, and one for none.
func onStores(s scenario, reach map[string]cell, points []string, run func(points []string)) {
	if !s.deploys {
		run(points)
		return
	}
	run(nil)
	for i, point := range points {
		if reach[point].n > 0 {
			run(points[i : i+1])
		}
	}
}

// storeOfProcesses makes a store for hosts in other processes. An embedded store has one owner: it is opened here when
// they have ended.
func storeOfProcesses(t *testing.T, kind string) (flags []string, open func() journal.Store) {
	opened := func(store journal.Store, err error) journal.Store {
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return store
	}
	if kind == "sqlite" {
		dir := t.TempDir()
		return []string{"--store", "sqlite:" + dir}, func() journal.Store {
			return opened(sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Logger: harness.Logger(t)}))
		}
	}
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	return []string{"--store", dsn, "--schema", schema}, func() journal.Store {
		return opened(postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema, Logger: harness.Logger(t)}))
	}
}

func newRuntime(t *testing.T) *wasm.Runtime {
	runtime, err := wasm.New(t.Context(), wasm.Config{CacheDir: harness.CacheDir(t), Logger: harness.Logger(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runtime.Close(context.Background())) })
	return runtime
}

// variant is a language on a kind of store, with instances kept warm or evicted after every turn.
type variant struct {
	language language
	store    string
	evict    bool
}

func (v variant) name() string {
	if v.evict {
		return v.language.name + "/" + v.store + " evicting"
	}
	return v.language.name + "/" + v.store
}

// setting is a scenario in a variant.
type setting struct {
	scenario scenario
	variant  variant
}

// settings have each scenario in each language, on each store and in each mode, two of a scenario as a
// rule, which have nothing in common; in full each scenario in all variants. No point is known at which the
// language, the store and the mode matter together.
func settings() []setting {
	var all []setting
	for _, c := range extenttest.Combinations(len(scenarios), len(languages), len(harness.StoreKinds), 2) {
		all = append(all, setting{scenarios[c[0]], variant{languages[c[1]], harness.StoreKinds[c[2]], c[3] == 1}})
	}
	return all
}

// processVariants have each language, each store and each mode; in full all their combinations.
func processVariants() []variant {
	if !extenttest.Full() {
		return []variant{{languages[0], "sqlite", false}, {languages[1], "postgres", true}}
	}
	var all []variant
	for _, c := range extenttest.Combinations(len(languages), len(harness.StoreKinds), 2) {
		all = append(all, variant{languages[c[0]], harness.StoreKinds[c[1]], c[2] == 1})
	}
	return all
}
