package guest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// startReceiver starts run as a workflow that accepts the signal s.
func startReceiver(t *testing.T, host Host, run func(Scope, []byte) ([]byte, error)) *Execution {
	t.Helper()
	r := setup(t, run)
	r.workflows["w"].Accept(Signal{Name: "s"})
	ex, out := r.Start(host, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"}, Options{RecoverPanics: true})
	require.Nil(t, out)
	t.Cleanup(ex.Close)
	return ex
}

var receive = &Call{Name: abi.OpReceive}

// raceThenReceive waits for a signal or a timer, and then for the signal alone.
func raceThenReceive(s Scope, _ []byte) ([]byte, error) {
	timer := s.Issue(&Call{Name: abi.OpSleep}, Label{"Sleep", ""}, EncodeBody(abi.Sleep{}))
	won, err := s.Await("Await", s.Receive(receive, "s"), timer)
	if err != nil {
		return nil, err
	}
	next := s.Receive(receive, "s")
	if _, err := s.Await("Await", next); err != nil {
		return nil, err
	}
	value, _, err := next.Result()
	return []byte(fmt.Sprint(won, " ", value)), err
}

// TestASignalBehindATimerIsNotLost: the timer and the signal come with the same turn, and the timer ends the wait for
// the signal.
func TestASignalBehindATimerIsNotLost(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	ex := startReceiver(t, host, raceThenReceive)
	out := ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: abi.Nil}, {Op: 3, Value: []byte{7}}}})
	require.Equal(t, "1 [7]", string(out.Value))
	require.Equal(t, uint32(3), host.ops, "one op received it")
	require.Empty(t, host.cancelled)
}

// TestTwoSignalsInATurn: the host may deliver the second only when it was asked for.
func TestTwoSignalsInATurn(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	ex := startReceiver(t, host, func(s Scope, _ []byte) ([]byte, error) {
		a, b := s.Receive(receive, "s"), s.Receive(receive, "s")
		for _, p := range []*Promise{b, a} {
			if _, err := s.Await("Await", p); err != nil {
				return nil, err
			}
		}
		first, _, _ := b.Result()
		second, _, _ := a.Result()
		return []byte(fmt.Sprint(first, second)), nil
	})
	require.Equal(t, uint32(2), host.ops)
	require.Nil(t, ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: []byte{1}}}}))
	require.Equal(t, uint32(3), host.ops)
	out := ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 3, Value: []byte{2}}}})
	require.Equal(t, "[1] [2]", string(out.Value), "the one that waited first got the first")
}

// TestRefusedReceive: all that wait get the reason.
func TestRefusedReceive(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	ex := startReceiver(t, host, func(s Scope, _ []byte) ([]byte, error) {
		all := []*Promise{}
		for range 3 {
			all = append(all, s.Spawn(func(s Scope) (any, error) {
				p := s.Receive(receive, "s")
				_, err := s.Await("Await", p)
				if err == nil {
					_, _, err = p.Result()
				}
				return nil, err
			}))
		}
		failed := 0
		for _, p := range all {
			if _, err := s.Await("Await", p); err != nil {
				return nil, err
			}
			if _, _, err := p.Result(); abi.CodeOf(err) == abi.CodeTooManyOps {
				failed++
			}
		}
		return []byte{byte(failed)}, nil
	})
	host.refuse = abi.Errorf(abi.CodeTooManyOps, "no more")
	out := ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: []byte{1}}}})
	require.Equal(t, []byte{2}, out.Value, "the first was asked for before")
}
