package faults

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestHammer lets many callers make all kinds of requests for the same executions, while very few instances may stay
// warm. All executions must end, no journal may hold a delivery twice, and no execution may stay in memory.
func TestHammer(t *testing.T) {
	t.Parallel()
	store := harness.Store(t, "sqlite")
	registry := prometheus.NewRegistry()
	larger := engine(t, store, func(*host.Config) {}) // to compile takes more memory than to run
	harness.Push(t, larger, "races", "tests/guests/races")
	require.NoError(t, larger.Stop(t.Context()))
	e := engine(t, store, func(c *host.Config) {
		c.Memory, c.IdleTimeout, c.Registerer = 20<<20, 20*time.Millisecond, registry
	})
	var callers sync.WaitGroup
	for seed := range uint64(6) {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 80 {
				hammer(t, e, random)
			}
		})
	}
	callers.Wait()

	for i := range hammered {
		for _, workflow := range []string{"Late", "Long", "Parent", "Race", "Resolve"} {
			key := fmt.Sprint(workflow, i)
			_, _, err := e.Launcher().Start(t.Context(), host.StartRequest{
				Workflow: "races/" + workflow, Input: harness.Encode(t, key),
			})
			require.NoError(t, err)
			execution := "races/" + workflow + "/" + key
			for _, name := range []string{execution, "races/Late/" + key + "-late"} {
				for _, deferred := range []string{"gate", "early"} {
					settleAny(t, e, name, deferred)
				}
			}
			row := harness.Wait(t, e, execution)
			require.True(t, row.State.Final(), "%s is %s: %v", execution, row.State, row.Error)
			checkJournal(t, store, row)
		}
	}
	harness.Eventually(t, "no execution or instance is in memory", func() bool {
		return gauge(t, registry, "cruster_executions_in_memory") == 0 &&
			gauge(t, registry, "cruster_instances_resident") == 0
	})
}

// hammered is how many executions of each workflow there are.
const hammered = 4

// hammer makes one request for one execution. The request may be too late or too early, or have nothing to do.
func hammer(t *testing.T, e *host.Engine, random *rand.Rand) {
	workflow := []string{"Late", "Long", "Parent", "Race", "Resolve"}[random.IntN(5)]
	key := fmt.Sprint(workflow, random.IntN(hammered))
	execution := "races/" + workflow + "/" + key
	var err error
	switch random.IntN(7) {
	case 0, 1:
		_, _, err = e.Launcher().Start(t.Context(), host.StartRequest{
			Workflow: "races/" + workflow, Input: harness.Encode(t, key),
		})
	case 2:
		settleAny(t, e, execution, []string{"gate", "early", "unused"}[random.IntN(3)])
	case 3:
		if random.IntN(4) == 0 {
			err = e.Executions().Interrupt(t.Context(), "", execution, "hammered")
		}
	case 4:
		_, err = e.Observer().Describe(t.Context(), "", execution)
	case 5:
		err = e.Executions().Resume(t.Context(), "", execution)
	case 6:
		err = e.Executions().Fail(t.Context(), "", execution, "hammered")
	}
	expected(t, err)
}

func settleAny(t *testing.T, e *host.Engine, execution, name string) {
	err := e.Executions().Settle(t.Context(), "", execution, journal.Deferred{
		Name: name, Value: harness.Encode(t, "x"),
	})
	expected(t, err)
}

func expected(t *testing.T, err error) {
	switch abi.CodeOf(err) {
	case abi.CodeExecutionNotFound, abi.CodeUnknownDeferred, abi.CodeDeferredSettled, abi.CodeAlreadyOver,
		abi.CodeNotPaused:
	default:
		require.NoError(t, err)
	}
}

// checkJournal checks the invariants of every journal: an op is delivered at most once, and neither turns nor time run
// backwards.
func checkJournal(t *testing.T, store journal.Store, row *journal.Execution) {
	entries, _, err := store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 10_000, Bytes: 1 << 30})
	require.NoError(t, err)
	delivered, at, turn := map[uint32]bool{}, row.CreatedAt, uint64(0)
	for _, en := range entries {
		require.GreaterOrEqual(t, en.At, at, "entry %d", en.Seq)
		at = en.At
		if en.Kind != journal.Delivery {
			continue
		}
		require.False(t, delivered[en.Op.Number], "op %d is delivered twice", en.Op.Number)
		require.GreaterOrEqual(t, en.Turn, turn, "entry %d", en.Seq)
		delivered[en.Op.Number], turn = true, en.Turn
	}
}

func gauge(t *testing.T, registry *prometheus.Registry, name string) float64 {
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.FailNow(t, "there is no such metric", name)
	return 0
}
