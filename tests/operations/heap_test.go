package ops_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
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
	require.EqualValues(t, (16+112)*mib, metricOf(t, p, "go_gc_gomemlimit_bytes"))

	p.Kill()
	p.Arm("GOMEMLIMIT=300MiB")
	p.Start()
	require.EqualValues(t, 300*mib, metricOf(t, p, "go_gc_gomemlimit_bytes"))
}

// metricOf is a metric of a host without labels.
func metricOf(t *testing.T, p *harness.Process, name string) int64 {
	t.Helper()
	resp, err := http.Get("http://" + p.HTTP + "/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	found := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindSubmatch(body)
	require.NotNil(t, found)
	value, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	return int64(value)
}
