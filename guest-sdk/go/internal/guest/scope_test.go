package guest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestEmptyScopeIsRefused(t *testing.T) {
	t.Parallel()
	require.PanicsWithError(
		t, "CR-4002: Now was called with an empty cruster.Context: pass on the one that the workflow was given",
		func() { Scope{}.Now() },
	)
}

func TestShieldedOpsAreIssuedAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	var refused error
	ex, out := startWorkflow(t, host, func(s Scope, body []byte) ([]byte, error) {
		if _, err := sleepOnce(s, body); err == nil {
			return nil, errors.New("the sleep was not interrupted")
		}
		_, _, refused = s.Issue(&Call{Name: abi.OpSleep}, Label{"Sleep", ""}, EncodeBody(abi.Sleep{})).Result()
		return sleepOnce(s.Shield(), body)
	})
	require.Nil(t, out)
	require.Nil(
		t, ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 1, Value: abi.MustMarshal(abi.Interruption{})}}}),
	)
	require.ErrorIs(t, refused, ErrInterrupted)
	require.EqualValues(t, 3, host.ops, "the wait for an interrupt, the first sleep and the shielded one")
	out = ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 3, Value: abi.Nil}}})
	require.Equal(t, abi.Nil, out.Value)
}

func TestRefusedOpFailsItsWait(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	_, out := startWorkflow(t, host, func(s Scope, body []byte) ([]byte, error) {
		host.refuse = abi.Errorf(abi.CodeTooManyOps, "too many")
		return sleepOnce(s, body)
	})
	require.Equal(t, abi.CodeWorkflowFailed, out.Error.Code)
	require.Equal(t, "CR-4003: too many", out.Error.Message)
}
