package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

const mib = 1 << 20

// TestTheHeapIsBoundedByTheBudget: the collector is told of the budget, unless the operator tells it
// something else.
func TestTheHeapIsBoundedByTheBudget(t *testing.T) {
	t.Parallel()
	p := harness.NewProcess(t, "sqlite:"+t.TempDir(), "--memory", "16MiB")
	p.Start()
	require.EqualValues(t, 16*mib*13/32+112*mib, p.Metric("go_gc_gomemlimit_bytes"))

	p.Kill()
	p.Arm("GOMEMLIMIT=300MiB")
	p.Start()
	require.EqualValues(t, 300*mib, p.Metric("go_gc_gomemlimit_bytes"))
}
