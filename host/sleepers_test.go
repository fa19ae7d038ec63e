package host_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestSleepersTakeNoMemory has more executions sleep for long than a host may have in memory. None is there, nor an
// instance of one; each can be asked, settled and interrupted. Others find room.
func TestSleepersTakeNoMemory(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		const many, room = 40, 10
		reg := prometheus.NewRegistry()
		e := harness.Engine(t, store, func(c *host.Config) { c.MaxExecutions, c.Registerer = room, reg })
		harness.Push(t, e, "storm", "tests/guests/storm")
		empty := func() bool {
			families, err := reg.Gather()
			require.NoError(t, err)
			left := 0.0
			for _, f := range families {
				switch f.GetName() {
				case "cruster_executions_in_memory", "cruster_instances_resident", "cruster_memory_used_bytes":
					left += f.GetMetric()[0].GetGauge().GetValue()
				}
			}
			return left == 0
		}
		sleep := func(n int, d time.Duration) string {
			return harness.Start(t, e, "storm/Sleeper", map[string]any{"n": n, "until": time.Now().Add(d).UnixMilli()})
		}
		var names []string
		for n := range many {
			if n%(room/2) == 0 {
				harness.Eventually(t, "those before have left memory", empty)
			}
			names = append(names, sleep(n, time.Hour))
		}
		harness.Eventually(t, "all have left memory", empty)
		short := sleep(many, 100*time.Millisecond)
		require.Equal(t, many, harness.Decode[int](t, harness.Wait(t, e, short).Value))

		var d *host.Description
		harness.Eventually(t, "it is asked when it does not compute", func() bool {
			var err error
			d, err = e.Observer().Describe(t.Context(), "", names[7])
			require.NoError(t, err)
			require.Equal(t, journal.Running, d.State)
			return d.Pending[0].Kind != execution.KindTurn
		})
		require.Equal(t, abi.OpSleep, d.Pending[len(d.Pending)-1].Kind)
		require.NoError(
			t, e.Executions().Settle(t.Context(), "", names[8], journal.Deferred{Name: "early", Value: abi.Nil}),
		)
		require.NoError(t, e.Executions().Interrupt(t.Context(), "", names[9], "enough"))
		require.Equal(t, journal.Interrupted, harness.Wait(t, e, names[9]).State)
	})
}
