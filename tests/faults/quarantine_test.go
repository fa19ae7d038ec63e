package faults

import (
	"fmt"
	"path"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// panics are the points at which the host works on one execution, with a workflow that passes them.
var panics = []struct {
	module, workflow string
	input            func(key string) any
	points           []string
}{
	{"modules/examples/orders", "orders/ProcessOrder", func(key string) any {
		return object{
			"order_id": key, "email": "ada@example.com", "cooling_off_ms": 1, "fail_charges": 1,
			"items": []object{{"sku": "apple", "quantity": 2, "price_cents": 150}},
		}
	}, []string{
		faultpoint.TurnBeforeCommit, faultpoint.TurnAfterCommit, faultpoint.TurnAfterEffects,
		faultpoint.FinalAfterCommit,
		faultpoint.ActivityBefore, faultpoint.ActivityAfter, faultpoint.RetryBeforeCommit, faultpoint.RetryAfterCommit,
		faultpoint.TxBeforeCommit, faultpoint.TxAfterCommit, faultpoint.Evict, faultpoint.Replay,
	}},
	{"tests/guests/races", "races/Resolve", func(key string) any { return key }, []string{
		faultpoint.SettleBeforeCommit, faultpoint.SettleAfterCommit,
	}},
	// A call that is under way while its execution is paused goes on, and passes the point that is behind it. So each
	// has a host of its own.
	{"tests/guests/races", "races/Parent", func(key string) any { return key }, []string{faultpoint.CallBefore}},
	{"tests/guests/races", "races/Parent", func(key string) any { return key }, []string{faultpoint.CallAfter}},
}

// TestPanicPausesOneExecution has the host panic once, at each point of the work on an execution. That execution is
// paused with the reason, or was over before; others go on. After a resume it completes. A sender at which the host
// fails repeats its message.
func TestPanicPausesOneExecution(t *testing.T) {
	t.Parallel()
	for _, c := range panics {
		t.Run(path.Base(c.workflow)+"/"+c.points[0], func(t *testing.T) {
			t.Parallel()
			var armed atomic.Pointer[string]
			e := engine(t, harness.Store(t, "sqlite"), func(cfg *host.Config) {
				undertest.Of(&cfg.UnderTest).EvictAlways = true
				undertest.Of(&cfg.UnderTest).FaultPoint = func(point string) {
					if p := armed.Load(); p != nil && *p == point && armed.CompareAndSwap(p, nil) {
						panic("injected at " + point)
					}
				}
			})
			harness.Push(t, e, path.Base(c.module), c.module)
			for _, point := range c.points {
				armed.Store(&point)
				name := harness.Start(t, e, c.workflow, c.input(point))
				row := harness.Wait(t, e, name)
				require.Nil(t, armed.Load(), "%s was not passed", point)
				if point != faultpoint.FinalAfterCommit && point != faultpoint.SettleBeforeCommit &&
					point != faultpoint.SettleAfterCommit {
					require.Equal(t, journal.Paused, row.State, point)
					require.Equal(t, abi.CodeHostFault, row.Error.Code, point)
					require.Contains(t, row.Error.Message, point)
				}
				if point == faultpoint.CallBefore || point == faultpoint.CallAfter {
					continue // its children wait for others
				}
				other := harness.Wait(t, e, harness.Start(t, e, c.workflow, c.input("beside "+point)))
				require.Equal(t, journal.Completed, other.State, "%s: %v", point, other.Error)
				if row.State == journal.Paused {
					require.NoError(t, e.Executions().Resume(t.Context(), "", name))
					row = harness.Wait(t, e, name)
				}
				require.Equal(t, journal.Completed, row.State, "%s: %v", point, row.Error)
			}
		})
	}
}

// TestFaultyExecutionStaysPaused has the host panic whenever it replays one execution. Hosts that find it again leave
// it paused and start; a request to resume it tries again, and pauses it again.
func TestFaultyExecutionStaysPaused(t *testing.T) {
	t.Parallel()
	store := harness.Store(t, "sqlite")
	e := engine(t, store)
	harness.Push(t, e, "approval", "modules/examples/approval")
	name := harness.Start(t, e, "approval/RequestApproval", object{"document": "d"})
	harness.Eventually(t, "it waits", func() bool {
		row, err := e.Observer().Poll(t.Context(), "", name)
		require.NoError(t, err)
		return row.WakeAt != journal.Now
	})
	require.NoError(t, e.Stop(t.Context()))
	var faults atomic.Int64
	for n := range 3 {
		e = engine(t, store, func(cfg *host.Config) {
			undertest.Of(&cfg.UnderTest).FaultPoint = func(point string) {
				if point == faultpoint.Replay {
					faults.Add(1)
					panic("injected")
				}
			}
		})
		if n == 0 {
			decision := abi.MustMarshal(object{"approved": true, "by": "ada"})
			require.NoError(
				t, e.Executions().Settle(t.Context(), "", name, journal.Deferred{Name: "approved", Value: decision}),
				"that needs no replay",
			)
		}
		row, err := e.Observer().Wait(t.Context(), "", name)
		require.NoError(t, err)
		require.Equal(t, abi.CodeHostFault, row.Error.Code)
		require.EqualValues(t, n+1, faults.Load(), "it is not tried unasked")
		require.NoError(t, e.Executions().Resume(t.Context(), "", name))
		harness.Eventually(t, "it is paused again", func() bool {
			row, err := e.Observer().Poll(t.Context(), "", name)
			require.NoError(t, err)
			return row.State == journal.Paused && faults.Load() == int64(n+2)
		})
		require.NoError(t, e.Stop(t.Context()), fmt.Sprint("host ", n))
	}
}
