package grpcserver_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// publishing sets an engine up whose executions publish something.
func publishing(t *testing.T) *testBundle {
	b := setup(t)
	info := abi.WorkflowInfo{
		Name: "Buy", State: []abi.StateInfo{{Name: "stage"}, {Name: "later"}},
		Attributes: []abi.AttributeInfo{
			{Name: "amount", Type: abi.AttributeNumber},
			{Name: "code", Type: abi.AttributeText},
			{Name: "since", Type: abi.AttributeTime},
			{Name: "vip", Type: abi.AttributeBool},
		},
	}
	b.engine.workflowOf = func(context.Context, string, string) (*abi.WorkflowInfo, error) { return &info, nil }
	b.engine.deployment = func(context.Context, string, string) (*host.DeploymentInfo, error) {
		return &host.DeploymentInfo{Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{info}}}, nil
	}
	b.engine.poll = func(_ context.Context, namespace, _ string) (*journal.Execution, error) {
		return &journal.Execution{Namespace: namespace, Workflow: "shop/Buy", Key: "k", State: journal.Completed}, nil
	}
	b.engine.published = func(*journal.Execution) *journal.Published {
		return &journal.Published{
			State: []abi.Published{
				{Name: "stage", Value: abi.MustMarshal("packed")}, {Name: "total", Value: abi.MustMarshal(5)},
			},
			Attributes: []journal.NamedAttribute{
				{Name: "amount", Attribute: abi.Attribute{Type: abi.AttributeNumber, Number: 5}},
				{Name: "code", Attribute: abi.Attribute{Type: abi.AttributeText, Text: "7"}},
				{Name: "since", Attribute: abi.Attribute{Type: abi.AttributeTime, Number: 1e15}},
				{Name: "vip", Attribute: abi.Attribute{Type: abi.AttributeBool, Number: 1}},
			},
			Progress: &abi.Progress{Done: 1, Total: 3, Note: "packing"}, At: 77,
		}
	}
	return b
}

func TestPublishedStateIsRead(t *testing.T) {
	t.Parallel()
	b := publishing(t)
	resp, err := b.workflows.GetExecutionState(t.Context(), &crusterv1.GetExecutionStateRequest{
		Execution: "shop/Buy/k", Encoding: crusterv1.Encoding_ENCODING_JSON,
	})
	require.NoError(t, err)
	require.Len(t, resp.GetState(), 2)
	require.Equal(t, `"packed"`, resp.GetState()[0].GetValue().GetJson())
	require.Len(t, resp.GetAttributes(), 4)
	require.InDelta(t, 5, resp.GetAttributes()[0].GetNumber(), 0)
	require.Equal(t, "7", resp.GetAttributes()[1].GetText())
	require.Equal(t, time.UnixMicro(1e15).UTC(), resp.GetAttributes()[2].GetTime().AsTime())
	require.True(t, resp.GetAttributes()[3].GetBoolean())
	require.Equal(t, "packing", resp.GetProgress().GetNote())
	require.EqualValues(t, 77, resp.GetUpdateTime().AsTime().UnixNano())

	for name, count := range map[string]int{"stage": 1, "later": 0} {
		resp, err := b.workflows.GetExecutionState(
			t.Context(), &crusterv1.GetExecutionStateRequest{Execution: "shop/Buy/k", Name: name},
		)
		require.NoError(t, err)
		require.Len(t, resp.GetState(), count)
	}
	_, err = b.workflows.GetExecutionState(
		t.Context(), &crusterv1.GetExecutionStateRequest{Execution: "shop/Buy/k", Name: "other"},
	)
	require.Equal(t, abi.CodeUnknownState, abi.CodeOf(rpcerror.From(err)))
}

func TestListsAreSelectedByAttributes(t *testing.T) {
	t.Parallel()
	b := publishing(t)
	var asked []journal.Condition
	b.engine.list = func(_ context.Context, f journal.Filter) (journal.Page, error) {
		asked = f.Where
		return journal.Page{
			Executions: []journal.Execution{{Workflow: "shop/Buy", Key: "k", State: journal.Running}},
		}, nil
	}
	list := func(workflow string, where ...*crusterv1.Condition) ([]journal.Condition, error) {
		resp, err := b.workflows.ListExecutions(
			t.Context(), &crusterv1.ListExecutionsRequest{Workflow: workflow, Where: where},
		)
		if err == nil {
			require.Equal(t, "packing", resp.GetExecutions()[0].GetProgress().GetNote())
			require.Len(t, resp.GetExecutions()[0].GetAttributes(), 4)
		}
		return asked, rpcerror.From(err)
	}
	literal := func(name, value string) *crusterv1.Condition {
		return &crusterv1.Condition{Name: name, Operator: ">=", Value: &crusterv1.Condition_Literal{Literal: value}}
	}
	const text = abi.AttributeText
	for _, c := range []struct {
		workflow  string
		condition *crusterv1.Condition
		value     abi.Attribute
	}{
		{"", literal("a", "5"), abi.Attribute{Type: abi.AttributeNumber, Number: 5}},
		{"shop/", literal("a", "true"), abi.Attribute{Type: abi.AttributeBool, Number: 1}},
		{"", literal("a", "2001-09-09T01:46:40Z"), abi.Attribute{Type: abi.AttributeTime, Number: 1e15}},
		{"", literal("a", `"5"`), abi.Attribute{Type: text, Text: "5"}},
		{"", literal("a", "ada"), abi.Attribute{Type: text, Text: "ada"}},
		{"shop/Buy", literal("code", "7"), abi.Attribute{Type: text, Text: "7"}},
		{"shop/Buy", literal("code", `"7"`), abi.Attribute{Type: text, Text: "7"}},
		{"shop/Buy", literal("vip", "false"), abi.Attribute{Type: abi.AttributeBool}},
		{
			"", &crusterv1.Condition{Name: "a", Operator: ">=", Value: &crusterv1.Condition_Number{Number: 2}},
			abi.Attribute{Type: abi.AttributeNumber, Number: 2},
		},
		{
			"", &crusterv1.Condition{Name: "a", Operator: ">=", Value: &crusterv1.Condition_Text{Text: "2"}},
			abi.Attribute{Type: text, Text: "2"},
		},
		{
			"", &crusterv1.Condition{Name: "a", Operator: ">=", Value: &crusterv1.Condition_Boolean{Boolean: true}},
			abi.Attribute{Type: abi.AttributeBool, Number: 1},
		},
	} {
		where, err := list(c.workflow, c.condition)
		require.NoError(t, err)
		require.Equal(t, []journal.Condition{{Name: c.condition.GetName(), Operator: ">=", Value: c.value}}, where)
	}
	for _, bad := range []*crusterv1.Condition{
		literal("amount", "many"), literal("vip", "1"), literal("since", "noon"), {Name: "amount", Operator: "="},
	} {
		_, err := list("shop/Buy", bad)
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err), "%v: %v", bad, err)
	}
	_, err := list("shop/Buy", literal("other", "1"))
	require.Equal(t, abi.CodeUnknownState, abi.CodeOf(err))
}

// TestAListReadsWhatIsPublishedOnce: for any page.
func TestAListReadsWhatIsPublishedOnce(t *testing.T) {
	t.Parallel()
	b := publishing(t)
	b.engine.list = func(context.Context, journal.Filter) (page journal.Page, err error) {
		for i := range 50 {
			key := strconv.Itoa(i)
			page.Executions = append(page.Executions, journal.Execution{
				ID: journal.IDOf("default", "shop/Buy", key), Workflow: "shop/Buy", Key: key, State: journal.Completed,
			})
		}
		return page, nil
	}
	resp, err := b.workflows.ListExecutions(t.Context(), &crusterv1.ListExecutionsRequest{})
	require.NoError(t, err)
	require.Len(t, resp.GetExecutions(), 50)
	require.Len(t, resp.GetExecutions()[49].GetAttributes(), 4)
	require.EqualValues(t, 1, b.engine.outlines.Load())
}
