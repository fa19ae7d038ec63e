package guest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestRefusedFirstOpEndsTheWorkflow(t *testing.T) {
	t.Parallel()
	r := setup(t, func(Scope, []byte) ([]byte, error) { return nil, errors.New("must not run") })
	_, out := r.Start(
		&silentHost{refuse: abi.Errorf(abi.CodeWrongContext, "no")},
		abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"}, Options{},
	)
	require.Equal(t, abi.CodeWrongContext, out.Error.Code)
}

func TestUnknownDeliveriesAreIgnored(t *testing.T) {
	t.Parallel()
	r := setup(t, func(s Scope, _ []byte) ([]byte, error) {
		p := s.Issue(&Call{Name: abi.OpSleep}, Label{"Sleep", ""}, EncodeBody(abi.Sleep{}))
		_, err := s.Await("Await", p)
		return abi.Nil, err
	})
	ex, out := r.Start(&silentHost{}, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"}, Options{RecoverPanics: true})
	require.Nil(t, out)
	require.Nil(t, ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 99, Value: abi.Nil}}}))
	out = ex.Resume(abi.Resume{
		Deliveries: []abi.Delivery{{Op: 2, Value: abi.Nil}, {Op: 2, Value: abi.Nil}, {Op: 1, Value: abi.Nil}},
	})
	require.Equal(t, abi.Nil, out.Value)
	require.Equal(
		t, out, ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 1, Value: abi.Nil}}}),
		"a delivery after the end changes nothing",
	)
	ex.Close()
	ex.Close()
}

func TestDeadlockEndsTheWorkflow(t *testing.T) {
	t.Parallel()
	ex, out := startWorkflow(t, &silentHost{}, func(s Scope, _ []byte) ([]byte, error) {
		var first *Promise
		second := s.Spawn(func(s Scope) (any, error) {
			_, err := s.Await("Await", first)
			return nil, err
		})
		first = s.Spawn(func(s Scope) (any, error) {
			_, err := s.Await("Await", second)
			return nil, err
		})
		_, err := s.Await("Await", first)
		return abi.Nil, err
	})
	require.NotNil(t, out, "no op is pending, so the workflow must not park")
	require.Equal(t, abi.CodeGuestDeadlock, out.Error.Code)
	require.Equal(t, out, ex.Outcome())
}

func TestInterruptEndsTheWorkflow(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"": "the execution was asked to stop", "enough": "the execution was asked to stop: enough",
	} {
		host := &silentHost{}
		ex, out := startWorkflow(t, host, sleepOnce)
		require.Nil(t, out)
		out = ex.Resume(abi.Resume{
			Deliveries: []abi.Delivery{{Op: 1, Value: abi.MustMarshal(abi.Interruption{Reason: reason})}},
		})
		require.Equal(t, abi.CodeInterrupted, out.Error.Code)
		require.Equal(t, want, out.Error.Message)
		require.Equal(t, []uint32{2}, host.cancelled, "the sleep is cancelled")
	}
}

func TestRandomNumbersDependOnTheSeed(t *testing.T) {
	t.Parallel()
	draw := func(execution, seed string) uint64 {
		ex := &Execution{inv: abi.Invocation{Execution: execution, Seed: []byte(seed)}}
		return ex.rand().Uint64()
	}
	first := draw("d/w/k", "one run")
	require.Equal(t, first, draw("d/w/k", "one run"))
	require.NotEqual(t, first, draw("d/w/k", "another run"), "the name does not decide")
}
