package admission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
)

// TestDecide reads testdata/decide: `load executions=N/LIMIT writes=N/LIMIT bytes=N/LIMIT`.
func TestDecide(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/decide", func(t *testing.T, d *datadriven.TestData) string {
		var load admission.Load
		var limits admission.Limits
		scan := func(name string, n, limit any) {
			var text string
			d.ScanArgs(t, name, &text)
			_, err := fmt.Sscanf(text, "%d/%d", n, limit)
			require.NoError(t, err)
		}
		scan("executions", &load.Executions, &limits.Executions)
		scan("writes", &load.QueuedWrites, &limits.QueuedWrites)
		scan("bytes", &load.WriteBytes, &limits.WriteBytes)
		refusal := admission.Decide(load, limits)
		if refusal == nil {
			return "admitted\n"
		}
		return fmt.Sprintf("%v\nretry after %v\n", refusal, refusal.After)
	})
}

func TestController(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	load := admission.Load{Executions: 1}
	c := admission.NewController(
		admission.Limits{Executions: 2, QueuedWrites: 2, WriteBytes: 2}, func() admission.Load { return load }, reg,
	)
	require.NoError(t, c.Admit())
	load.Executions = 2
	err := fmt.Errorf("start: %w", c.Admit())
	require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
	require.Equal(t, time.Second, admission.RetryDelay(err))
	require.NoError(t, c.AdmitMessage(), "it needs no place")
	load = admission.Load{QueuedWrites: 2}
	require.Error(t, c.Admit())
	require.Equal(t, time.Second, admission.RetryDelay(c.AdmitMessage()))
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Equal(t, "cruster_messages_refused_total", families[0].GetName())
	require.InDelta(t, 1, families[0].GetMetric()[0].GetCounter().GetValue(), 0)
	require.Equal(t, "cruster_starts_refused_total", families[1].GetName())
	require.InDelta(t, 2, families[1].GetMetric()[0].GetCounter().GetValue(), 0)
	require.Zero(t, admission.RetryDelay(abi.Errorf(abi.CodeStore, "no")))
}
