package upgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestLowerLimitsStopNoExecution restarts a host with a limit on the memory of guests that is below the memory that a
// module has from the start, and with one on the size of modules. Executions that run on the module go on; a push of it
// is refused.
func TestLowerLimitsStopNoExecution(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		first := harness.Engine(t, store)
		push(t, first, "one")
		execution := park(t, first, "started under higher limits")
		require.NoError(t, first.Stop(t.Context()))

		for limit, code := range map[string]abi.Code{"memory": abi.CodeModuleMemory, "size": abi.CodeModuleTooLarge} {
			lower := harness.Engine(t, store, func(c *host.Config) {
				if limit == "memory" {
					c.Wasm.MemoryLimit = 1 << 20
				} else {
					c.Wasm.MaxModuleSize = 1 << 10
				}
			})
			harness.Pending(t, lower, execution, abi.OpDeferred, "signal")
			binary := harness.Module(t, "tests/guests/upgrade/one")
			_, err := lower.Deployments().Push(t.Context(), host.PushRequest{Name: "report", Binary: binary})
			require.Equal(t, code, abi.CodeOf(err), "%v", err)
			err = lower.Deployments().Check(t.Context(), host.CheckRequest{Name: "report", Binary: binary}, nil)
			require.Equal(t, code, abi.CodeOf(err), "%v", err)
			require.NoError(t, lower.Stop(t.Context()))
		}
		last := harness.Engine(t, store, func(c *host.Config) {
			c.Wasm.MemoryLimit, c.Wasm.MaxModuleSize = 1<<20, 1<<10
		})
		require.Equal(t, "one set with one", finish(t, last, execution))
	})
}
