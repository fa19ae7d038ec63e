package hibernation

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// bodies has one op of each kind, with all fields set.
var bodies = map[string]any{
	abi.OpActivity: &abi.Activity{
		Name: "charge", Input: abi.MustMarshal(map[string]any{"a": 1}), Timeout: 7, Key: "k",
		Retry: abi.Retry{Base: 1, Retries: 2},
	},
	abi.OpCall:        &abi.Call{Workflow: "shop/Ship", Input: abi.MustMarshal("x")},
	abi.OpDeferred:    &abi.Deferred{Name: "paid"},
	abi.OpInterrupted: &abi.Interrupted{},
	abi.OpPatched:     &abi.Patched{ID: "v2"},
	abi.OpEntityCall:  &abi.EntityMessage{Entity: "Account/ada", Operation: "deposit", Input: abi.MustMarshal(5)},
	abi.OpEntitySend:  &abi.EntityMessage{Entity: "Account/ada", Operation: "deposit", Input: abi.Nil},
	abi.OpLock:        &abi.Lock{Entities: []string{"Account/ada", "Account/bob"}},
	abi.OpUnlock:      &abi.Unlock{},
	abi.OpUpdate:      &abi.Update{},
	abi.OpAnswer:      &abi.Answer{ID: "00", Value: abi.MustMarshal(1)},
	abi.OpPublish:     &abi.Publish{State: []abi.Published{{Name: "stage", Value: abi.MustMarshal("packed")}}},
	abi.OpReceive:     &abi.Receive{Name: "paid"},
	abi.OpSignal:      &abi.Signal{Execution: "shop/Ship/1", Name: "paid", Value: abi.Nil},
	abi.OpInterrupt:   &abi.Interrupt{Execution: "shop/Ship/1", Reason: "r"},
	abi.OpPoll:        &abi.Poll{Execution: "shop/Ship/1"},
	abi.OpResolve:     &abi.Resolve{Execution: "shop/Ship/1", Name: "n", Value: abi.Nil},
	abi.OpSend:        &abi.Call{Workflow: "shop/Ship", Input: abi.Nil},
	abi.OpSleep:       &abi.Sleep{Name: "nap", Duration: 5},
}

func pendingOp(t *testing.T, kind string, number uint32) *op.Op {
	o, err := op.New(kind, abi.MustMarshal(bodies[kind]), number, 99)
	require.Nil(t, err, kind)
	op.Occurrences{}.Count(o)
	return o
}

func TestPendingOpsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	require.Len(t, bodies, len(abi.OpKinds), "one of each kind")
	for kind := range bodies {
		o := pendingOp(t, kind, 3)
		o.Attempts, o.NextAt, o.Lost, o.Released, o.BegunAt = 1, 2, 3, true, 4
		o.LastError = abi.Errorf(abi.CodeActivityFailed, "no")
		p, err := PendingOf(o)
		require.NoError(t, err)
		again, err := p.Restore()
		require.NoError(t, err)
		require.Equal(t, o, again, kind)
	}
}

func stateOf(t *testing.T) *State {
	s := &State{
		Run: journal.NewRunID(), Digest: "sha256:1", Seq: 10, Turn: 4, At: 77,
		Guest: &guest.Saved{
			Instance: &wasm.Saved{
				Base:    [32]byte{1},
				Size:    1 << 16,
				Pages:   []uint32{3},
				Content: bytes.Repeat([]byte{1, 2}, 2048),
				Globals: []uint64{5},
				Clock:   8,
				Origin:  9,
			},
			Clock: 6, Random: []byte{7}, Ops: 12, Open: []uint32{11, 100}, Seen: make([]byte, 20),
		},
	}
	p, err := PendingOf(pendingOp(t, abi.OpActivity, 11))
	require.NoError(t, err)
	s.Pending = []Pending{p}
	return s
}

func TestStatesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	var c Codec
	s := stateOf(t)
	packed, err := c.Encode(s)
	require.NoError(t, err)
	again, err := c.Decode(packed)
	require.NoError(t, err)
	require.Equal(t, s, again)
	ops, err := again.Ops()
	require.NoError(t, err)
	require.Len(t, ops, 1)
}

// TestDamagedStatesAreNoticed changes each byte in turn.
func TestDamagedStatesAreNoticed(t *testing.T) {
	t.Parallel()
	var c Codec
	packed, err := c.Encode(stateOf(t))
	require.NoError(t, err)
	for i := range packed {
		damaged := bytes.Clone(packed)
		damaged[i] ^= 0x41
		if again, err := c.Decode(damaged); err == nil {
			// The header has bits that mean nothing.
			require.Equal(t, abi.MustMarshal(stripped(t, &c, packed)), abi.MustMarshal(again), "byte %d", i)
		}
	}
	for n := range packed {
		_, err := c.Decode(packed[:n])
		require.Error(t, err, "cut off after %d bytes", n)
	}
}

func stripped(t *testing.T, c *Codec, packed []byte) *State {
	s, err := c.Decode(packed)
	require.NoError(t, err)
	return s
}

func TestLargeStatesAreNotSaved(t *testing.T) {
	t.Parallel()
	var c Codec
	s := stateOf(t)
	s.Guest.Instance.Content = make([]byte, maxPlain)
	_, err := c.Encode(s)
	require.ErrorIs(t, err, ErrTooLarge)
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entries         int
		seq, saved      uint64
		dropped, atWork bool
	}{
		{-1, 100_000, 0, false, false},
		{0, 0, 0, false, false}, // there is nothing to be gained
		{0, 1, 0, true, false},
		{64, 63, 0, false, false},
		{64, 64, 0, true, false},
		{64, 999, 0, true, false},
		{64, 1000, 0, true, true},
		{64, 1063, 1000, false, false},
		{64, 1064, 1000, true, false},
		{64, 80_999, 71_000, true, false},
		{64, 81_200, 71_000, true, true},
		{64, 10, 20, false, false}, // a run that was rolled back
		{5000, 2000, 0, false, false},
	} {
		p := Policy{c.entries}
		require.Equal(t, c.dropped, p.WhenDropped(c.seq, c.saved), "%+v", c)
		require.Equal(t, c.atWork, p.AtWork(c.seq, c.saved), "%+v", c)
	}
}
