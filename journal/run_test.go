package journal_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/journal"
)

// TestStepNames are part of the format: idempotency keys that were sent to others are made of them. Never change one.
func TestStepNames(t *testing.T) {
	t.Parallel()
	for want, op := range map[string]journal.Op{
		"e1b9d8e423bb28fccdc19a3e512509bb": {
			Kind: "activity", Name: "charge", Hash: []byte("0123456789abcdef"), Number: 3, Occurrence: 1,
		},
		"a7f39ce450933516f07afefea7fdde03": {
			Kind: "activity", Name: "charge", Hash: []byte("0123456789abcdef"), Number: 4, Occurrence: 2,
		},
		"52e81d5e9d80e0052bb32d8ca0ee0f49": {
			Kind: "activity", Name: "charge", Key: "order 42", Number: 3, Occurrence: 1,
		},
	} {
		require.Equal(t, want, op.Step().String())
	}
	a := journal.Op{Kind: "sleep", Name: "n", Hash: []byte("h"), Number: 1, Occurrence: 1}
	b := a
	b.Number = 9
	require.Equal(t, a.Step(), b.Step(), "the number is not part of it")
	for what, other := range map[string]journal.Op{
		"kind":       {Kind: "sleepn", Hash: []byte("h"), Occurrence: 1},
		"name":       {Kind: "sleep", Name: "nh", Occurrence: 1},
		"key":        {Kind: "sleep", Name: "n", Key: "h", Occurrence: 1},
		"hash":       {Kind: "sleep", Name: "n", Hash: []byte("i"), Occurrence: 1},
		"occurrence": {Kind: "sleep", Name: "n", Hash: []byte("h"), Occurrence: 2},
	} {
		require.NotEqual(t, a.Step(), other.Step(), what)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	run, step := journal.RunID{1}, journal.StepID{2}
	origin := journal.OriginOf(run, step)
	require.Equal(
		t, "e7bf1156bf1ebc99c74fb5d5bb9633d5", hex.EncodeToString(origin[:]), "settlements in stores are known by it",
	)
	require.NotEqual(t, origin, journal.OriginOf(journal.RunID{2}, step))
	require.NotEqual(t, origin, journal.OriginOf(run, journal.StepID{1}))
	drawn := map[journal.Origin]bool{}
	for range 100 {
		drawn[journal.NewOrigin()] = true
	}
	require.Len(t, drawn, 100)
}

// TestWaitingFor shows that the order of steps does not matter and that their set does.
func TestWaitingFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.Byte(), 1, 2*journal.MaxListed, rapid.ID[byte]).Draw(t, "steps")
		var steps, reversed []journal.StepID
		for i := range numbers {
			steps = append(steps, journal.Op{Name: string(rune(numbers[i]))}.Step())
			reversed = append(reversed, journal.Op{Name: string(rune(numbers[len(numbers)-1-i]))}.Step())
		}
		w := journal.WaitingFor(7, steps)
		require.Equal(t, w, journal.WaitingFor(7, reversed))
		require.Equal(t, len(steps) <= journal.MaxListed, w.List != nil)
		require.NotEqual(t, w.Steps, journal.WaitingFor(7, steps[1:]).Steps)
	})
}
