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
	require.EqualValues(t, (16+112)*mib, heapLimit(t, p))

	p.Kill()
	p.Arm("GOMEMLIMIT=300MiB")
	p.Start()
	require.EqualValues(t, 300*mib, heapLimit(t, p))
}

// heapLimit is what the collector of a host was told, by its metrics.
func heapLimit(t *testing.T, p *harness.Process) int64 {
	t.Helper()
	resp, err := http.Get("http://" + p.HTTP + "/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	found := regexp.MustCompile(`(?m)^go_gc_gomemlimit_bytes (.*)$`).FindSubmatch(body)
	require.NotNil(t, found)
	limit, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	return int64(limit)
}
