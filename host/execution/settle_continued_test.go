package execution

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// lateSettlements is a committer that lets something happen before the first settlement is committed.
type lateSettlements struct {
	Committer
	before func()
}

func (c *lateSettlements) Commit(w journal.Write) (journal.Result, error) {
	if before := c.before; before != nil && w.Receive != nil && w.Receive.Kind == journal.SettleMessage {
		c.before = nil
		before()
	}
	return c.Committer.Commit(w)
}

// TestSettlementOfAContinuedRun settles a deferred while its run continues on other code, which has a deferred of
// another type by that name, or none: a value that does not fit is refused, and is in no inbox.
func TestSettlementOfAContinuedRun(t *testing.T) {
	t.Parallel()
	for name, deferreds := range map[string][]abi.DeferredInfo{
		"another type": {{Name: "d", Value: &abi.Schema{Type: abi.TypeBool}}},
		"none":         {{Name: "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			eachFixture(t, func(t *testing.T, f *fixture) {
				f.setScripts(map[string][]string{"typed": {"receive s", "continue"}})
				row := rowOf("typed", "k")
				f.programs.workflow = func(ctx context.Context, of *journal.Execution) (*abi.WorkflowInfo, error) {
					info, err := workflowOf(ctx, of)
					if of.Run != row.Run {
						info.Deferreds = deferreds
					}
					return info, err
				}
				_, err := f.x.Starter.Start(t.Context(), row, nil)
				require.NoError(t, err)
				synctest.Wait()
				ref := request.Ref{ID: row.ID, Name: row.Name()}
				f.committer.Committer = &lateSettlements{f.committer.Committer, func() {
					f.setScripts(map[string][]string{"typed": {"deferred d", "done ok"}})
					require.NoError(t, f.request(ref, "signal", []string{"s"}))
					time.Sleep(time.Second)
				}}
				require.Error(t, f.request(ref, "settle", []string{"d", "text"}))
				now, err := f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				require.NotEqual(t, row.Run, now.Run)
				settled, err := journal.ListSettlements(t.Context(), f.store, now.Settlements())
				require.NoError(t, err)
				require.Empty(t, settled)
			})
		})
	}
}
