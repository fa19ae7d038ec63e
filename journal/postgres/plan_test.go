package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestPlan plans writes in the form of TestDecide. The commands:
//
//	independent           whether they can be tried together
//	optimistic, decided   the statements of the plan, in order, with the rows of each
//	guest                 the same for the write of a guest's transaction
func TestPlan(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/plan", func(t *testing.T, d *datadriven.TestData) string {
		var writes []*journal.Write
		for _, line := range strings.Split(d.Input, "\n") {
			writes = append(writes, parseWrite(t, line))
		}
		if d.Cmd == "independent" {
			return fmt.Sprintln(independent(writes))
		}
		premises := map[string]premise{"optimistic": optimistic, "decided": decided, "guest": guest}
		require.Contains(t, premises, d.Cmd)
		b := &pgx.Batch{}
		queueWrites(b, writes, premises[d.Cmd], &answers{})
		var out strings.Builder
		for _, q := range b.QueuedQueries {
			ids := q.Arguments[1].([][]byte)
			require.True(t, slices.IsSortedFunc(ids, slices.Compare), "rows are locked and changed in one order")
			fmt.Fprintf(&out, "%s %d\n", strings.TrimPrefix(q.SQL, "cruster_"), len(ids))
		}
		return out.String()
	})
}

func TestCheckRefusesWhatPostgresCannotKeep(t *testing.T) {
	t.Parallel()
	id := idOf("a")
	for name, w := range map[string]journal.Write{
		"key with a zero byte": {
			ID: id, Run: journal.RunID(id), Start: &journal.Execution{ID: id, Run: journal.RunID(id), Key: "a\x00b"},
		},
		"workflow not in UTF-8": {
			ID: id, Run: journal.RunID(id), Start: &journal.Execution{ID: id, Run: journal.RunID(id), Workflow: "\xff"},
		},
		"name of a deferred": {ID: id, Run: journal.RunID(id), Receive: (&journal.Deferred{Name: "\x00"}).Message()},
		"name of a message": {
			ID:      id,
			Receive: &journal.Message{Envelope: journal.Envelope{Kind: "k", Name: "\x00", Origin: journal.Origin{1}}},
		},
		"kind of a message": {
			ID: id,
			Send: []journal.Sent{{
				To: id, Message: journal.Message{Envelope: journal.Envelope{Kind: "\xff", Origin: journal.Origin{1}}},
			}},
		},
		"key of an entity": {ID: id, Entity: &journal.Entity{ID: id, Namespace: "n", Type: "t", Key: "\x00"}},
		"type of a lock":   {ID: id, Lock: &journal.Lock{Entity: id, Type: "\x00", Holder: journal.Caller{ID: id}}},
		"key of one parked": {
			ID: id, Park: []journal.Parked{{Position: 1, Key: "\x00", Reason: abi.Errorf(abi.CodeInternal, "no")}},
		},
		"digest of the next": {
			ID: id, Run: journal.RunID(id), Continue: &journal.Continuation{Run: journal.RunID{1}, Digest: "\xff"},
		},
		"state": {ID: id, Run: journal.RunID(id), Update: &journal.Update{State: "\xff"}},
	} {
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(check(&w)), name)
	}
	require.ErrorContains(t, check(&journal.Write{}), "without an execution id")
	require.NoError(
		t,
		check(&journal.Write{ID: id, Run: journal.RunID(id), Receive: (&journal.Deferred{Name: "ünïcode"}).Message()}),
	)
}
