package conformance

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestALoopInABatchIsFoundByWhatTheGuestReports: an operation that never ends uses up its limit once, wherever
// in a batch it is. Operations in front of it and behind it are performed, and it is parked.
func TestALoopInABatchIsFoundByWhatTheGuestReports(t *testing.T) {
	t.Parallel()
	const limit = 300_000_000
	eachSetting(t, func(t *testing.T, l language, kind string) {
		registry := prometheus.NewRegistry()
		b := setup(t, l, kind, nil, func(c *host.Config) {
			c.Registerer, c.TurnFuel, c.TurnTimeout = registry, limit, 10*time.Minute
		})
		send := func(operation string, input any) {
			require.NoError(t, b.engine.Entities().Send(t.Context(), host.EntityRequest{
				Entity: "conformance/Tally/a", Operation: operation, Input: harness.Encode(t, input),
			}))
		}
		send("spin", true) // the others come while it is at work, and so in one batch
		for i := range 10 {
			send("add", 1)
			if i == 6 {
				send("spin", true)
			}
		}
		parked := func() (all []host.ParkedMessage) {
			all, err := b.engine.Entities().Parked(t.Context(), journal.ParkedFilter{})
			require.NoError(t, err)
			return all
		}
		harness.Eventually(t, "both to be parked", func() bool { return len(parked()) == 2 })
		for _, m := range parked() {
			require.Equal(t, abi.CodeOperationCrashed, m.Reason.Code)
			require.Equal(t, "spin", m.Message.Name)
		}
		harness.Eventually(t, "the others to be performed", func() bool {
			o, err := b.engine.Entities().Call(t.Context(), host.EntityRequest{
				Entity: "conformance/Tally/a", Operation: "spin", Input: harness.Encode(t, false),
			})
			require.NoError(t, err)
			return harness.Decode[int64](t, o.Value) == 10
		})
		require.InDelta(
			t, 2*limit, gathered(t, registry, "cruster_entity_fuel_total"), 0.1*limit, "each used up its limit once",
		)
	})
}

// gathered is the sum of a counter.
func gathered(t *testing.T, registry *prometheus.Registry, name string) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
