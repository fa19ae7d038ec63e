package conformance

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestWhatAStepCosts bounds the fuel of a step, which is the work of the guest and of its SDK, and the same on every
// machine: a benchmark is read now and then, and a change of an SDK that makes every step dearer is seen here. (A timer
// for each attempt, which no one looked at, made an activity in Go cost 85,000.)
func TestWhatAStepCosts(t *testing.T) {
	t.Parallel()
	const steps = 20
	for _, l := range wholeLanguages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			b := setup(t, l, "sqlite", nil, func(c *host.Config) { c.Registerer = registry })
			row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "conformance/Sequence", steps))
			require.Equal(t, journal.Completed, row.State, "%v", row.Error)
			requireFuel(t, registry, steps, map[string]map[string]float64{
				"cruster_activity_fuel_total": {"go": 45_000, "rust": 24_000},
				"cruster_workflow_fuel_total": {"go": 45_000, "rust": 18_000},
			}, l.name)
		})
	}
}

// TestWhatAStatementCosts bounds the fuel of an activity with one statement of SQL in the same way. (By reflection it
// cost one in Go 223,000.)
func TestWhatAStatementCosts(t *testing.T) {
	t.Parallel()
	for language, folder := range map[string]string{
		"go": "modules/examples/transfer", "rust": "modules/examples/transfer/rust",
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			e := harness.Engine(t, harness.Store(t, "sqlite"), func(c *host.Config) { c.Registerer = registry })
			harness.Push(t, e, "transfer", folder)
			row := harness.Wait(
				t, e, harness.Start(t, e, "transfer/OpenAccount", object{"account": "ada", "balance_cents": 1}),
			)
			require.Equal(t, journal.Completed, row.State, "%v", row.Error)
			requireFuel(t, registry, 1, map[string]map[string]float64{
				"cruster_activity_fuel_total": {"go": 76_000, "rust": 26_000},
			}, language)
		})
	}
}

// requireFuel compares the counted fuel of a step with its bound: a quarter more than the usual cost.
func requireFuel(
	t *testing.T, registry *prometheus.Registry, steps float64, most map[string]map[string]float64, language string,
) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	seen := 0
	for _, family := range families {
		if limit := most[family.GetName()][language]; limit > 0 {
			seen++
			require.Less(t, family.GetMetric()[0].GetCounter().GetValue()/steps, limit, family.GetName())
		}
	}
	require.Len(t, most, seen)
}
