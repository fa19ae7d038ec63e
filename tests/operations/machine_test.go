package ops_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/internal/harness"
)

// TestTheBudgetIsOfTheNestedGroup: a host in a control group below others has half of the memory of that group, and not
// of the machine. Where a test may make no group it fails, unless CRUSTER_TEST_CGROUPS=none says so: then the host is
// in the test's own group, and has the budget that this process would have.
func TestTheBudgetIsOfTheNestedGroup(t *testing.T) {
	t.Parallel()
	half, group := budget.OfMachine(), harness.MemoryGroup(t, 512*mib)
	if group == "" {
		require.Equal(t, "none", os.Getenv("CRUSTER_TEST_CGROUPS"),
			"no control group can be made here: the test would compare the machine with itself; "+
				"CRUSTER_TEST_CGROUPS=none has it do that")
		t.Log("CRUSTER_TEST_CGROUPS=none: nested groups are not tested")
	} else {
		half = 256 * mib
	}
	p := harness.NewProcess(t, "sqlite:"+t.TempDir())
	p.Confine(group)
	p.Start()
	instances := p.Metric("cruster_memory_budget_bytes")
	others := p.Metric("cruster_queued_memory_budget_bytes") + p.Metric("cruster_delivered_memory_budget_bytes") +
		p.Metric("cruster_request_memory_budget_bytes") + p.Metric("cruster_answer_memory_budget_bytes") + p.Metric(
		"cruster_connection_memory_budget_bytes",
	)
	require.Equal(t, half, instances+others)
	require.Equal(t, half*13/32+112*mib, p.Metric("go_gc_gomemlimit_bytes"))
}
