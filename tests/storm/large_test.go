package storm_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
)

// small is all the memory of a machine on which large values are many more than fit.
const small = 512 * mib

// confined is a host in a control group of a small machine, whose memory it finds out itself. Where a test may make no
// group, the host is told its size.
func (s store) confined(t *testing.T, group string, args ...string) *host {
	t.Helper()
	if group == "" {
		args = append(args, "--memory", bytesOf(small/2))
	}
	h := s.prepared(t, args...)
	h.process.Confine(group)
	h.start()
	return h
}

// TestLargeInputsBesideASlowActivity: executions with large inputs wait for an activity, all at the same time. Their
// inputs are more than the memory of the host, in full thirty times the machine's. Inputs that the host cannot
// take it refuses for now, and accepted ones complete.
func TestLargeInputsBesideASlowActivity(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at store) {
		n, input := extenttest.Sized(5000, 100), any(strings.Repeat("x", 3*mib))
		gate, group := startGate(t), harness.MemoryGroup(t, small)
		h := at.confined(t, group, "--max-activities", "4") // this is not about their instances
		h.push("tests/guests/greedy", gate)
		impatient, err := client.Dial(h.process.GRPC, client.WithRetryFor(0))
		require.NoError(t, err)
		defer impatient.Close()
		var refused atomic.Int64
		h.each(n, func(key string) error {
			_, err := client.Workflow[any, any](impatient, "storm/Hold").WithKeyRaw(key).Start(t.Context(), input)
			if err == nil {
				return nil
			}
			var coded *abi.Error
			if !errors.As(err, &coded) || coded.Code != abi.CodeOverloaded || !coded.Retryable {
				return err
			}
			refused.Add(1)
			_, err = client.Workflow[any, any](h.client, "storm/Hold").WithKeyRaw(key).Start(t.Context(), input)
			return err
		})
		t.Logf("%d of %d starts were refused at first", refused.Load(), n)
		h.awaitRunning("storm/Hold", n)
		gate.open()
		h.awaitAll("storm/Hold", n)
		h.requireMemory(small)
	})
}

// TestLargeDeferredsAtOnce: executions that were given a large value, and are settled with another one, are
// recovered all at the same time. Of each one value is replayed, and the other one delivered.
func TestLargeDeferredsAtOnce(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at store) {
		const length = 4_000_000
		n := extenttest.Sized(200, 20)
		gate, group, value := startGate(t), harness.MemoryGroup(t, small), strings.Repeat("x", length)
		first := at.host(t, "--max-activities", text(n))
		first.push("tests/guests/greedy", gate)
		first.startAll("storm/Gather", 0, n, func(int) any { return nil })
		for _, name := range []string{"before", "after"} {
			first.each(n, func(key string) error {
				return first.client.Resolve(t.Context(), "storm/Gather/"+key, name, value)
			})
		}
		gate.awaitArrived(t, n)
		first.kill()

		gate.open()
		second := at.confined(t, group)
		second.awaitAll("storm/Gather", n)
		sum, err := client.Workflow[any, int](second.client, "storm/Gather").WithKeyRaw("0").Execute(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, 2*length, sum)
		second.requireMemory(small)
	})
}
