package guest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// TestOpsAreAdmitted issues ops: each takes memory of the host before it is taken, and gives it back when it is
// delivered or cancelled.
func TestOpsAreAdmitted(t *testing.T) {
	t.Parallel()
	body := abi.MustMarshal(&abi.Activity{Name: "a", Input: abi.MustMarshal(make([]byte, 6<<10))})
	each := int64(len(body) + opCost)
	b := budget.New(3 * each)
	g := openGuest(t, wasmtest.Program{Calls: []wasmtest.ImportCall{
		{Import: abi.OpActivity, Body: body},
		{Import: abi.OpActivity, Body: body},
		{Import: abi.OpActivity, Body: body},
	}})
	g.memory.Ops = b.Empty()
	turn, err := g.Start(t.Context())
	require.NoError(t, err)
	require.Len(t, turn.Issued, 3)
	require.Equal(t, 3*each, b.Used())
	g.closeOp(2)
	g.cancel(3)
	require.Equal(t, each, b.Used())
	_, refused := g.issue(abi.OpActivity, []byte("garbage"))
	require.Equal(t, abi.CodeBadBody, refused.Code)
	require.Equal(t, each, b.Used(), "what is malformed takes nothing")
}

// TestAStarvedTurnIsInVain issues more than there is memory for: whatever the guest makes of it,
// the turn ends with the host's error.
func TestAStarvedTurnIsInVain(t *testing.T) {
	t.Parallel()
	body := abi.MustMarshal(&abi.Activity{Name: "a", Input: abi.MustMarshal(make([]byte, 6<<10))})
	g := openGuest(t, wasmtest.Program{Calls: []wasmtest.ImportCall{
		{Import: abi.OpActivity, Body: body},
		{Import: abi.OpActivity, Body: body},
		{Import: abi.OpSleep, Body: sleepBody(5)},
	}})
	b := budget.New(20 << 10)
	g.memory.Ops = b.Empty()
	other := b.Empty()
	require.True(t, other.Grow(10<<10))
	turn, err := g.Start(t.Context())
	require.Equal(t, abi.CodeOverloaded, abi.CodeOf(err))
	require.False(t, IsTrap(err))
	require.Empty(t, turn)
	require.Len(t, g.open, 1, "what comes behind it is refused as well")
}

// TestOpsThatNeverFit asks for more than there would be alone: that is told.
func TestOpsThatNeverFit(t *testing.T) {
	t.Parallel()
	body := abi.MustMarshal(&abi.Activity{Name: "a", Input: abi.MustMarshal(make([]byte, 6<<10))})
	g := openGuest(t, wasmtest.Program{
		Calls: []wasmtest.ImportCall{{Import: abi.OpActivity, Body: body}, {Import: abi.OpActivity, Body: body}},
	})
	g.memory.Ops = budget.New(10 << 10).Empty()
	_, err := g.Start(t.Context())
	require.Equal(t, abi.CodeTooManyOps, abi.CodeOf(err))
	require.False(t, IsTrap(err))
}
