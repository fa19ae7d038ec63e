package kill9_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/internal/harness"
)

// startOperator has an operator look now and then for executions that are paused because they were killed with their
// host again and again, and resume them: a client waits for its own, but their children have no client. Leave ends
// that.
func startOperator(t *testing.T, p *harness.Process) (leave func()) {
	c := dial(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		every := time.NewTicker(100 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			page, err := c.Workflows().ListExecutions(
				ctx, &crusterv1.ListExecutionsRequest{State: crusterv1.State_STATE_PAUSED},
			)
			if err != nil {
				continue // the host is away
			}
			for _, e := range page.GetExecutions() {
				if e.GetError().GetCode() == string(abi.CodeHostLost) {
					// or the next time
					_, _ = c.Workflows().ResumeExecution(ctx, &crusterv1.ResumeExecutionRequest{Execution: e.GetName()})
				}
			}
		}
	})
	return func() {
		cancel()
		working.Wait()
	}
}
