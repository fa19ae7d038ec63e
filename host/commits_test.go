package host_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestTenStepsTakeTwelveCommitsAtMost counts what a workflow of ten steps costs
// when it is alone, with plain activities and with such that use SQL.
func TestTenStepsTakeTwelveCommitsAtMost(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		for _, sql := range []bool{false, true} {
			e, count := countingEngine(t, store)
			harness.Push(t, e, "steps", "tests/guests/steps")
			before := count("cruster_commits_total")
			harness.Execute[int](t, e, "steps/Steps", object{"n": 10, "sql": sql, "run": "alone"})
			require.LessOrEqual(t, count("cruster_commits_total")-before, 12.0, "sql: %v", sql)
		}
	})
}

// TestConcurrentWorkflowsShareCommits starts many workflows at once: their
// writes must travel together.
func TestConcurrentWorkflowsShareCommits(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e, count := countingEngine(t, store)
		harness.Push(t, e, "steps", "tests/guests/steps")
		const workflows = 64
		begin := make(chan struct{})
		done := make(chan *journal.Execution)
		for i := range workflows {
			go func() {
				<-begin
				done <- harness.Wait(t, e, harness.Start(t, e, "steps/Steps", object{"n": 10, "run": fmt.Sprint(i)}))
			}()
		}
		commits, writes := count("cruster_commits_total"), count("cruster_commit_writes_total")
		close(begin)
		for range workflows {
			require.Equal(t, journal.Completed, (<-done).State)
		}
		commits, writes = count("cruster_commits_total")-commits, count("cruster_commit_writes_total")-writes
		t.Logf("%v writes in %v commits", writes, commits)
		require.GreaterOrEqual(t, writes, float64(workflows*11))
		require.Less(t, commits, writes, "no two writes shared a commit")
	})
}

// countingEngine is an engine whose counters can be read.
func countingEngine(t *testing.T, store journal.Store) (*host.Engine, func(name string) float64) {
	registry := prometheus.NewRegistry()
	e := harness.Engine(t, store, func(c *host.Config) { c.Registerer = registry })
	return e, func(name string) float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		sum := 0.0
		for _, f := range families {
			if f.GetName() != name {
				continue
			}
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
		return sum
	}
}
