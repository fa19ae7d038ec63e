package harness

import (
	"io"
	"net/http"
	"regexp"
	"strconv"

	"github.com/stretchr/testify/require"
)

// Metric is a metric of the host that has no labels.
func (p *Process) Metric(name string) int64 {
	p.t.Helper()
	resp, err := http.Get("http://" + p.HTTP + "/metrics")
	require.NoError(p.t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	require.NoError(p.t, resp.Body.Close())
	found := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindSubmatch(body)
	require.NotNil(p.t, found, name)
	value, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(p.t, err)
	return int64(value)
}
