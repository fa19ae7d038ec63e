package memory

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/internal/metrictest"
)

func TestMetricsOfMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(100)
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(instanceShare.use(b), queuedShare.use(budget.New(7)))
		_, err := b.Acquire(t.Context(), 70)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() { _, _ = b.Acquire(ctx, 40) }()
		}
		synctest.Wait()
		require.Equal(t, map[string]float64{
			"cruster_memory_budget_bytes":        100,
			"cruster_memory_used_bytes":          70,
			"cruster_memory_waiting":             2,
			"cruster_queued_memory_budget_bytes": 7,
			"cruster_queued_memory_used_bytes":   0,
			"cruster_queued_memory_waiting":      0,
		}, metrictest.Values(t, reg))
		cancel()
		synctest.Wait()
		require.Zero(t, metrictest.Values(t, reg)["cruster_memory_waiting"])
	})
}

// TestSharesOfTheMemory: the shares are the whole, and docs/tuning.md has a row for each, with its size and its
// metrics.
func TestSharesOfTheMemory(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tuning.md")
	require.NoError(t, err)
	var parts, bytes int64
	const memory = 1<<30 + 17
	for _, s := range shares {
		parts += s.parts
		bytes += s.budgetOf(memory).Total()
		row := fmt.Sprintf("| %d/%d |", s.parts, shareParts)
		require.True(t, slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool {
			metrics := true
			for _, end := range []string{"used_bytes", "budget_bytes", "waiting"} {
				metrics = metrics && strings.Contains(line, "`cruster_"+s.metric+"_"+end+"`")
			}
			return strings.HasPrefix(line, row) && metrics
		}), "the page has no row %s with the metrics of cruster_%s", row, s.metric)
	}
	require.EqualValues(t, shareParts, parts)
	require.EqualValues(t, memory, bytes)
	for _, text := range []string{
		fmt.Sprintf("1/%d of `--memory`", writeLimit), "`cruster_write_memory_used_bytes`",
		"`cruster_write_memory_limit_bytes`",
		fmt.Sprintf("1/%d of `--memory`", outcomeLimit), "`cruster_outcome_memory_used_bytes`",
		"`cruster_outcome_memory_limit_bytes`",
	} {
		require.Contains(t, string(page), text)
	}
}
