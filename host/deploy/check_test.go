package deploy

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// listOnly is a store that has these executions, on one page.
type listOnly struct {
	journal.Store
	rows []journal.Execution
}

func (s listOnly) List(_ context.Context, f journal.Filter) (page journal.Page, err error) {
	for _, row := range s.rows {
		if row.State == f.State {
			page.Executions = append(page.Executions, row)
		}
	}
	return page, nil
}

// TestOrderOfAChecksExecutions: executions that may run for as long as they are let come last.
func TestOrderOfAChecksExecutions(t *testing.T) {
	t.Parallel()
	row := func(key string, state journal.State, cause *abi.Error) journal.Execution {
		return journal.Execution{
			ID: journal.IDOf(journal.DefaultNamespace, "tiny/W", key), Key: key, State: state, Error: cause,
		}
	}
	late := abi.Errorf(abi.CodeGuestTimeout, "it did not return")
	rows := []journal.Execution{
		row("late", journal.Paused, late),
		row("loop", journal.Paused, abi.Errorf(abi.CodeCrashLoop, "it crashed 3 times; last: %v", late)),
		row("crashed", journal.Paused, abi.Errorf(abi.CodeCrashLoop, "it crashed 3 times; last: a panic")),
		row("running", journal.Running, nil),
		row("unexplained", journal.Paused, nil),
	}
	keys := map[journal.ID]string{}
	for _, r := range rows {
		keys[r.ID] = r.Key
	}
	ids, err := New(Deps{Store: listOnly{rows: rows}}).openExecutions(t.Context(), journal.DefaultNamespace, "tiny")
	require.NoError(t, err)
	var order []string
	for _, id := range ids {
		order = append(order, keys[id])
	}
	require.Equal(t, []string{"running", "crashed", "unexplained", "late", "loop"}, order)
}
