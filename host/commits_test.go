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

// TestAStepAddsOneCommit counts the commits of a workflow that runs alone, with plain activities
// and with SQL activities: a commit for the start and one for each step; the last holds
// the result as well. A step that used SQL needs a second one if the host was still busy with the
// run when its transaction ended, so one of some runs has to do without; none takes more than one
// commit beyond that for each step.
func TestAStepAddsOneCommit(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		e, count := countingEngine(t, store)
		harness.Push(t, e, "steps", "tests/guests/steps")
		for _, steps := range []int{1, 10} {
			for _, sql := range []bool{false, true} {
				harness.TryUntil(t, fmt.Sprintf("%d steps, sql: %v, add a commit each", steps, sql), func(i int) bool {
					before := count("cruster_commits_total")
					harness.Execute[int](t, e, "steps/Steps", object{
						"n": steps, "sql": sql, "run": fmt.Sprint(steps, i),
					})
					// The result can be read from the store a moment before its commit is counted.
					var took float64
					harness.Eventually(t, "the commits are counted", func() bool {
						took = count("cruster_commits_total") - before
						return took >= float64(steps+1)
					})
					require.LessOrEqual(t, took, float64(steps+2), "%d steps, sql: %v", steps, sql)
					return took == float64(steps+1)
				})
			}
		}
	})
}

// TestConcurrentWorkflowsShareCommits starts many workflows at once: their writes must travel together.
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
		// The last result can be read from the store a moment before its commit is counted.
		harness.Eventually(t, "the writes are counted", func() bool {
			return count("cruster_commit_writes_total")-writes >= workflows*11
		})
		commits, writes = count("cruster_commits_total")-commits, count("cruster_commit_writes_total")-writes
		t.Logf("%v writes in %v commits", writes, commits)
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
