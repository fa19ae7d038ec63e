package crustertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// Both the pending ops and the journal of a run are bounded.
func TestOpened(t *testing.T) {
	t.Parallel()
	r := &run{pending: map[uint32]pendingOp{1: {size: maxOpenBytes}}, opened: opened{bytes: maxOpenBytes}}
	require.Equal(t, abi.CodeTooManyOps, r.checkOpen(abi.OpSleep, []byte{0}).Code)
	r.closeOp(1)
	require.Nil(t, r.checkOpen(abi.OpSleep, []byte{0}))
	require.Equal(t, abi.CodePayloadTooLarge, r.checkOpen(abi.OpSleep, make([]byte, abi.MaxBody+1)).Code)
	for op := range uint32(maxOpenOps) {
		r.pending[op] = pendingOp{}
	}
	require.Equal(t, abi.CodeTooManyOps, r.checkOpen(abi.OpSleep, nil).Code)

	r.opened.entries = maxEntries - 1
	require.Nil(t, r.enter())
	err := r.enter()
	require.Equal(t, abi.CodeExecutionTooLong, err.Code)
	require.Equal(t, "the journal has 250001 entries, the limit is 250000", err.Message)
	r = &run{
		ops:         9,
		interruptOp: 1,
		pending: map[uint32]pendingOp{
			1: {what: "interrupted"}, 7: {what: "sleep 1h0m0s"}, 9: {what: "activity charge"},
		},
	}
	require.Equal(t, err.Message+"; pending: sleep 1h0m0s (op 7), activity charge (op 9)", r.withPending(err).Message)
	require.Equal(t, "the journal has 250001 entries, the limit is 250000", err.Message)
}
