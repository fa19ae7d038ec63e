package convert_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

func TestDiffs(t *testing.T) {
	t.Parallel()
	require.Nil(t, convert.Diff(nil))
	d := convert.Diff(&host.Diff{
		Before: 2,
		After:  3,
		Rows:   []replay.DiffRow{{Journal: "activity pay", Code: "activity charge\xff", Note: "differs"}},
	})
	require.EqualValues(t, 2, d.GetBefore())
	require.EqualValues(t, 3, d.GetAfter())
	require.Equal(t, "activity pay", d.GetRows()[0].GetJournal())
	require.Equal(t, "activity charge\uFFFD", d.GetRows()[0].GetCode(), "names of a module need not be UTF-8")
	require.Equal(t, "differs", d.GetRows()[0].GetNote())
	require.True(t, rpcerror.Differs(d.GetRows()[0]))
	d = convert.Diff(&host.Diff{
		Rows: []replay.DiffRow{
			{Journal: "activity pay", Note: replay.NotCompared}, {Journal: "activity pay", Code: "activity pay"},
		},
	})
	require.False(t, rpcerror.Differs(d.GetRows()[0]))
	require.False(t, rpcerror.Differs(d.GetRows()[1]))
}

func TestCheckResponses(t *testing.T) {
	t.Parallel()
	run := journal.NewRunID()
	r, err := convert.CheckResponse(host.CheckResult{
		Execution: &journal.Execution{Workflow: "shop/Buy", Key: "k", State: journal.Paused, Run: run},
		Reason:    "it pays twice",
		Diff:      &host.Diff{},
	}, 2, 5)
	require.NoError(t, err)
	require.Equal(t, "shop/Buy/k", r.GetExecution().GetName())
	require.Equal(t, crusterv1.State_STATE_PAUSED, r.GetExecution().GetState())
	require.Equal(t, run.String(), r.GetExecution().GetRunId())
	require.False(t, r.GetFits())
	require.Equal(t, "it pays twice", r.GetReason())
	require.NotNil(t, r.GetDiff())
	require.EqualValues(t, 2, r.GetDone())
	require.EqualValues(t, 5, r.GetTotal())
}
