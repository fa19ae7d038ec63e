package guest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// leave asks for a signal and for a timer, and continues when the timer has fired.
func leave(s Scope, _ []byte) ([]byte, error) {
	s.TryReceive(receive, "s")
	timer := s.Issue(&Call{Name: abi.OpSleep}, Label{"Sleep", ""}, EncodeBody(abi.Sleep{}))
	if _, err := s.Await("Await", timer); err != nil {
		return nil, err
	}
	return nil, &Continue{Input: []byte{9}}
}

// TestAnUnreadSignalGoesOn: whether it came before the delivery that ended the run, in the same turn, or behind it.
func TestAnUnreadSignalGoesOn(t *testing.T) {
	t.Parallel()
	signal, timer := abi.Delivery{Op: 2, Value: []byte{7}}, abi.Delivery{Op: 3, Value: abi.Nil}
	for name, turns := range map[string][][]abi.Delivery{
		"a turn before": {{signal}, {timer}},
		"before":        {{signal, timer}},
		"behind":        {{timer, signal}},
	} {
		ex := startReceiver(t, &silentHost{}, leave)
		var out *abi.Outcome
		for _, deliveries := range turns {
			require.Nil(t, out, name)
			out = ex.Resume(abi.Resume{Deliveries: deliveries})
		}
		require.Equal(t, &abi.Outcome{Continue: &abi.Continue{Input: []byte{9}, Unread: []string{"s"}}}, out, name)
	}
}

// TestUnreadSignalsComeFirst: a run begins once the signals left unread by the run before are here,
// and finds them at once.
func TestUnreadSignalsComeFirst(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	r := setup(t, func(s Scope, _ []byte) ([]byte, error) {
		var all []byte
		for _, name := range []string{"s", "u"} {
			p := s.TryReceive(receive, name)
			value, _, err := p.Result()
			if err != nil || !p.Settled() {
				return nil, abi.Errorf(abi.CodeInternal, "%v, %v", p.Settled(), err)
			}
			all = append(all, value...)
		}
		return all, nil
	})
	r.workflows["w"].Receive = receive
	r.workflows["w"].Accept(Signal{Name: "s"}, Signal{Name: "u"})
	ex, out := r.Start(
		host, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w", Unread: []string{"gone", "s", "u"}},
		Options{RecoverPanics: true},
	)
	require.Nil(t, out)
	t.Cleanup(ex.Close)
	require.Equal(t, uint32(3), host.ops, "the wait for an interrupt, and for two signals")
	require.Nil(t, ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 3, Value: []byte{2}}}}))
	require.Equal(t, uint32(3), host.ops, "it has not begun")
	out = ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: []byte{1}}}})
	require.Equal(t, []byte{1, 2}, out.Value)
	require.Equal(t, uint32(5), host.ops, "it has asked for the next of each")
}

// TestUpdatesAreTakenFromTheStart: before the workflow sets a handler.
func TestUpdatesAreTakenFromTheStart(t *testing.T) {
	t.Parallel()
	host := &silentHost{}
	r := setup(t, func(s Scope, _ []byte) ([]byte, error) {
		timer := s.Issue(&Call{Name: abi.OpSleep}, Label{"Sleep", ""}, EncodeBody(abi.Sleep{}))
		if _, err := s.Await("Await", timer); err != nil {
			return nil, err
		}
		var got []byte
		s.HandleUpdate("u", UpdateHandler{Run: func(_ Scope, input []byte) ([]byte, error) {
			got = append(got, input...)
			return input, nil
		}})
		_, err := s.Await("Await", s.When(func() bool { return len(got) == 2 }))
		return got, err
	})
	r.workflows["w"].Take(
		UpdateOps{Update: &Call{Name: abi.OpUpdate}, Answer: &Call{Name: abi.OpAnswer}}, Update{Name: "u"},
	)
	ex, out := r.Start(host, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"}, Options{RecoverPanics: true})
	require.Nil(t, out)
	t.Cleanup(ex.Close)
	request := func(n byte) []byte {
		return abi.MustMarshal(abi.UpdateRequest{ID: string('a' + rune(n)), Input: []byte{n}, Name: "u"})
	}
	// 1 interrupt, 2 update, 3 timer, 4 the next update.
	require.Nil(t, ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: request(1)}}}))
	require.Equal(t, uint32(4), host.ops)
	require.Equal(
		t, &abi.Outcome{Value: abi.Nil}, ex.Query(abi.Query{Name: "u", Update: true}),
		"there is no handler yet that could refuse it",
	)
	require.Nil(t, ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 3, Value: abi.Nil}}}))
	require.Equal(t, []uint32{5}, host.cancelled, "the answer: its delivery is of no interest")
	out = ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 4, Value: request(2)}}})
	require.Equal(t, []byte{1, 2}, out.Value)

	ex, _ = r.Start(&silentHost{}, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"}, Options{RecoverPanics: true})
	t.Cleanup(ex.Close)
	out = ex.Resume(abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: []byte{0xc1}}}})
	require.Equal(t, abi.CodeGuestTrap, out.Error.Code)
}
