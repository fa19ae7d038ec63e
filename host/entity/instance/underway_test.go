package instance

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
)

// TestReportsAreChecked: a guest may report anything, and cannot have more time than two limits.
func TestReportsAreChecked(t *testing.T) {
	t.Parallel()
	renewals := 0
	u := UnderWay{Count: 3, Renew: func() bool { renewals++; return renewals < 3 }}
	failed := abi.Errorf(abi.CodeGuestTimeout, "it took too long")
	require.Nil(t, OperationErrorOf(u.EndedBy(failed)), "nothing is reported")
	for _, c := range []struct {
		index   uint32
		refused bool
		anew    bool
		whole   bool
	}{
		{index: 4, refused: true},
		{index: math.MaxUint32, refused: true},
		{index: 1, anew: true, whole: true},
		{index: 1},
		{index: 0},
		{index: 2, anew: true, whole: true},
		{index: 1},
	} {
		before := u
		anew, err := u.Begin(c.index)
		require.Equal(t, c.refused, err != nil)
		require.Equal(t, c.anew, anew)
		if c.refused {
			require.Equal(t, abi.CodeBadBody, err.Code)
			require.Equal(t, []any{before.begun, before.last, before.whole}, []any{u.begun, u.last, u.whole})
			continue
		}
		in := OperationErrorOf(u.EndedBy(failed))
		require.NotNil(t, in)
		require.EqualValues(t, c.index, in.Operation)
		require.Equal(t, c.whole, in.Whole)
		require.Equal(t, abi.CodeGuestTimeout, abi.CodeOf(in))
	}
	_, err := u.Begin(3)
	require.Nil(t, err)
	require.Nil(t, OperationErrorOf(u.EndedBy(failed)), "all have run")
	require.Equal(t, 3, renewals)

	var trap *wasm.Trap
	u = UnderWay{Count: 1, Renew: func() bool { return true }}
	_, _ = u.Begin(0)
	require.ErrorAs(t, u.EndedBy(&wasm.Trap{Err: failed}), &trap)
}
