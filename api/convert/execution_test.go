package convert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

const asJSON = crusterv1.Encoding_ENCODING_JSON

func TestEveryStateHasAMessage(t *testing.T) {
	t.Parallel()
	for _, state := range []journal.State{
		journal.Running, journal.Paused, journal.Completed, journal.Failed, journal.Interrupted,
	} {
		e, err := convert.Execution(&journal.Execution{State: state}, asJSON)
		require.NoError(t, err)
		require.NotEqual(t, crusterv1.State_STATE_UNSPECIFIED, e.GetState())
		back, err := convert.StateFilter(e.GetState())
		require.NoError(t, err)
		require.Equal(t, state, back)
	}
	unfiltered, err := convert.StateFilter(crusterv1.State_STATE_UNSPECIFIED)
	require.NoError(t, err)
	require.Empty(t, unfiltered)
	_, err = convert.StateFilter(99)
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err))
}

func TestExecutions(t *testing.T) {
	t.Parallel()
	running := &journal.Execution{
		Namespace: "default", Workflow: "shop/Buy", Key: "k\xff", State: journal.Running, CreatedAt: 1,
	}
	e, err := convert.Execution(running, asJSON)
	require.NoError(t, err)
	require.Equal(t, "shop/Buy/k\uFFFD", e.GetName(), "protobuf takes nothing but UTF-8")
	require.Equal(t, time.Unix(0, 1).UTC(), e.GetCreateTime().AsTime())
	require.Nil(t, e.GetEndTime())
	require.Nil(t, e.GetResult())
	require.Nil(t, e.GetError())
	require.Nil(t, e.GetInterruption())
	require.Empty(t, e.GetParentId())

	final := *running
	final.State, final.Value, final.FinishedAt = journal.Completed, abi.MustMarshal(7), 2
	final.Interrupt, final.Parent = &journal.Interrupt{At: 5, Reason: "why"}, journal.Caller{ID: journal.ID{1}}
	e, err = convert.Execution(&final, asJSON)
	require.NoError(t, err)
	require.Equal(t, "7", e.GetResult().GetJson())
	require.Equal(t, "why", e.GetInterruption().GetReason())
	require.Equal(t, final.Parent.ID.String(), e.GetParentId())
}

func TestListedExecutionsAreShort(t *testing.T) {
	t.Parallel()
	e, err := convert.ListedExecution(&journal.Execution{
		State: journal.Failed, Error: abi.Errorf(abi.CodeGuestTrap, "%s", strings.Repeat("x", 1<<20)),
	})
	require.NoError(t, err)
	require.Less(t, len(e.GetError().GetMessage()), 8<<10)
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	d, err := convert.Description(&host.Description{
		Execution:  journal.Execution{State: journal.Running, Input: abi.MustMarshal(map[string]any{"a": 1})},
		Entries:    3,
		Resident:   true,
		Patches:    []host.Patch{{ID: "tax\xff", Taken: true, Seq: 9}},
		ParentName: "shop/Sell/\xff",
		Circle:     []string{"shop/Buy/a", "shop/Buy/\xff"},
	}, asJSON)
	require.NoError(t, err)
	require.Equal(t, `{"a":1}`, d.GetDetails().GetInput().GetJson())
	require.EqualValues(t, 3, d.GetDetails().GetEntries())
	require.Equal(t, "shop/Sell/\uFFFD", d.GetExecution().GetParent())
	require.Equal(t, []string{"shop/Buy/a", "shop/Buy/\uFFFD"}, d.GetDetails().GetCircle())
	require.True(t, d.GetDetails().GetResident())
	require.Equal(t, "tax\uFFFD", d.GetDetails().GetPatches()[0].GetId())
	require.True(t, d.GetDetails().GetPatches()[0].GetTaken())
	require.EqualValues(t, 9, d.GetDetails().GetPatches()[0].GetSeq())
}

func TestPendingOps(t *testing.T) {
	t.Parallel()
	since := time.Unix(100, 0).UTC()
	failure := abi.Errorf(abi.CodeActivityFailed, "%s", strings.Repeat("x", 16<<10))
	failure.Details = make([]byte, 256<<10)
	p := convert.PendingOp(&host.PendingOp{
		Number: 4, Kind: "activity", Name: "pay", Since: since, Attempt: 2, LastError: failure,
	})
	require.Equal(t, since, p.GetIssueTime().AsTime())
	require.Nil(t, p.GetDueTime())
	require.Equal(t, string(abi.CodeActivityFailed), p.GetLastError().GetCode())
	require.Less(t, proto.Size(p), 8<<10)
	require.Empty(t, p.GetCallee())

	p = convert.PendingOp(&host.PendingOp{Number: 5, Kind: "call", Callee: "shop/Pay/k\xff", State: journal.Paused})
	require.Equal(t, "shop/Pay/k\uFFFD", p.GetCallee())
	require.Equal(t, crusterv1.State_STATE_PAUSED, p.GetCalleeState())
}

func TestSettledDeferreds(t *testing.T) {
	t.Parallel()
	d, err := convert.SettledDeferred(&journal.Deferred{Name: "d", Value: abi.MustMarshal(true), At: 7}, asJSON)
	require.NoError(t, err)
	require.Equal(t, "true", d.GetValue().GetJson())
	d, err = convert.SettledDeferred(
		&journal.Deferred{Name: "e", Error: abi.Errorf(abi.CodeDeferredRejected, "no")}, asJSON,
	)
	require.NoError(t, err)
	require.Nil(t, d.GetValue())
	require.Equal(t, string(abi.CodeDeferredRejected), d.GetError().GetCode())
	d = convert.OmittedDeferred(&journal.Settlement{Name: "f", At: 7, Bytes: 9})
	require.Equal(t, "f", d.GetName())
	require.EqualValues(t, 9, d.GetOmittedBytes())
}

func TestEntries(t *testing.T) {
	t.Parallel()
	e, err := convert.Entry(&journal.Entry{
		Seq:      3,
		Turn:     2,
		Kind:     journal.Delivery,
		At:       9,
		Op:       journal.Op{Number: 4, Kind: "activity", Name: "pay", Key: "k"},
		Attempts: 2,
		NextAt:   journal.Never,
		Value:    abi.MustMarshal("x"),
	}, asJSON)
	require.NoError(t, err)
	require.EqualValues(t, 3, e.GetSeq())
	require.EqualValues(t, 4, e.GetOp())
	require.Equal(t, "activity", e.GetOpKind())
	require.Nil(t, e.GetNextTime(), "never is no time")
	require.Equal(t, `"x"`, e.GetValue().GetJson())
}

// A value that JSON cannot express fails the whole answer, rather than to look like another value.
func TestValuesWithoutJSONAreRefused(t *testing.T) {
	t.Parallel()
	twice := []byte{0x82, 0x01, 0xc0, 0xa1, '1', 0xc0} // {1: nil, "1": nil}
	_, err := convert.Execution(&journal.Execution{Value: twice}, asJSON)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
	_, err = convert.Entry(&journal.Entry{Value: twice}, asJSON)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
	_, err = convert.SettledDeferred(&journal.Deferred{Value: twice}, asJSON)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err))
}
