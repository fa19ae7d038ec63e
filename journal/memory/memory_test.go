package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
	"github.com/cruster/cruster/journal/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		store := memory.New()
		return storetest.Harness{
			Open: func(testing.TB) journal.Store { return store },
			SaveShards: func(testing.TB) func(testing.TB) {
				saved := store.Fences()
				return func(testing.TB) { store.SetFences(saved) }
			},
		}
	})
}

func TestGuestSQLIsRefused(t *testing.T) {
	t.Parallel()
	_, err := memory.New().BeginGuest(t.Context(), "default")
	require.Equal(t, abi.CodeStore, abi.CodeOf(err))
}
