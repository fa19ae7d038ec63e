// Package crash_test crashes hosts at every named fault point and compares the
// result with an undisturbed run: engines in this process, at every point of every
// scenario, and the real binary, which kills itself with SIGKILL. testdata/points
// says which scenario reaches which point, and testdata/outcomes what comes of each.
// Start reading at campaign_test.go.
package crash_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// everything tells that this is `make crash`: all passings of all points in all
// variants, on the real binary too. It takes most of an hour.
var everything = os.Getenv("CRUSTER_CRASH") == "everything"

// TestCrashAtEveryBoundary proves the main promise: wherever the engine crashes,
// once the next one has finished the work, everything is as after an undisturbed
// run.
func TestCrashAtEveryBoundary(t *testing.T) {
	t.Parallel()
	runtime, reach := newRuntime(t), readReach(t)
	for _, v := range variants() {
		for _, s := range scenarios {
			t.Run(v.name()+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				onStores(s, reach.of(s, v.evict), v.points(), func(points []string) {
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
}

// TestTheBinaryKillsItself does the same with real processes, which kill themselves
// at each named point.
func TestTheBinaryKillsItself(t *testing.T) {
	t.Parallel()
	reach := readReach(t)
	for _, v := range processVariants() {
		for _, s := range scenarios {
			points := reach.share(s, v.evict)
			if everything {
				points = faultpoint.Points
			}
			if len(points) == 0 {
				continue
			}
			t.Run(v.name()+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				onStores(s, reach.of(s, v.evict), points, func(points []string) {
					flags, open := storeOfProcesses(t, v.store)
					c := newCampaign(t, v.language, s, reach.of(s, v.evict), (&processes{t: t, store: flags, evict: v.evict}).launch)
					c.firstToo = !v.evict
					c.crashAtAll(points)
					if everything {
						c.crashInReplays()
					}
					c.d.stop()
					c.compare(open())
				})
			})
		}
	}
}

// onStores runs a campaign with all points on one store. A first deployment is made
// once a store: such a scenario has a store for each point, and one for none.
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

// storeOfProcesses makes a store for hosts in other processes. An embedded store has
// one owner: it is opened here when they have ended.
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

// variant is a language on a kind of store, with instances kept warm or evicted
// after every turn.
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

// variants are each language on each store, one of which keeps its instances warm; in the short form,
// under the race detector, one of each language, store and mode; and in `make crash` all of them.
func variants() []variant {
	switch {
	case harness.Short():
		return mixed
	case !everything:
		return []variant{{languages[0], "sqlite", false}, {languages[1], "postgres", false}, {languages[0], "postgres", true}, {languages[1], "sqlite", true}}
	}
	var all []variant
	for _, l := range languages {
		for _, kind := range harness.StoreKinds {
			all = append(all, variant{l, kind, false}, variant{l, kind, true})
		}
	}
	return all
}

var mixed = []variant{{languages[0], "sqlite", false}, {languages[1], "postgres", true}}

// processVariants has each language, each store and each mode; in `make crash` all
// their combinations.
func processVariants() []variant {
	if everything {
		return variants()
	}
	return mixed
}

// points are the fault points at which a variant crashes: all of them, or, if
// instances are evicted after every turn, those where that makes a difference.
func (v variant) points() []string {
	if !v.evict || everything {
		return faultpoint.Points
	}
	return []string{
		faultpoint.TurnBeforeCommit, faultpoint.TurnAfterCommit, faultpoint.TxAfterCommit, faultpoint.InterruptAfterCommit,
		faultpoint.PauseBeforeCommit, faultpoint.ResumeAfterCommit, faultpoint.Evict, faultpoint.Replay,
	}
}
