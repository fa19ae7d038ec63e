package rebuild

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/hibernation"
)

// damagedGuest panics when its state is saved.
type damagedGuest struct{ instance.Guest }

// A save that panics takes no place from the saves of other runs.
func TestSaveThatPanics(t *testing.T) {
	t.Parallel()
	states := NewStates(Deps{})
	for range maxSaving {
		require.Panics(t, func() { states.Save(&Saving{state: &hibernation.State{}}, damagedGuest{}) })
	}
	require.True(t, states.saving.TryAcquire(maxSaving))
}
