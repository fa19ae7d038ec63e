package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// TestCompilationsAreAdmitted compiles while others have all the memory: it waits for theirs, and gives its own back.
func TestCompilationsAreAdmitted(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, newStore())
	c.Memory = budget.New(wasm.CompileCost(oneWorkflow))
	other := c.Memory.Empty()
	require.True(t, other.Grow(1))
	asked := 0
	c.Memory.ReclaimBy(func() bool {
		asked++
		require.Nil(t, c.cached(wasm.Digest(oneWorkflow)), "it is not compiled before there is memory")
		other.Release()
		return true
	})
	_, err := c.Push(t.Context(), PushRequest{Name: "one", Binary: oneWorkflow}, at(1))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Zero(t, c.Memory.Used())

	other = c.Memory.Empty()
	require.True(t, other.Grow(1))
	_, err = c.Push(t.Context(), PushRequest{Name: "two", Binary: oneWorkflow}, at(1))
	require.NoError(t, err)
	require.Equal(t, 1, asked, "what is compiled needs no memory")
}

// TestModulesThatNeverFit pushes a module to a host that is too small for it. A module that was
// accepted before is compiled all the same.
func TestModulesThatNeverFit(t *testing.T) {
	t.Parallel()
	store := newStore()
	c := newCatalog(t, store)
	c.Memory = budget.New(wasm.CompileCost(oneWorkflow) - 1)
	_, err := c.Push(t.Context(), PushRequest{Name: "one", Binary: oneWorkflow}, at(1))
	require.Equal(t, abi.CodeModuleTooLarge, abi.CodeOf(err))
	_, _, err = c.Borrow(t.Context(), oneWorkflow)
	require.Equal(t, abi.CodeModuleTooLarge, abi.CodeOf(err))
	_, err = store.Module(t.Context(), wasm.Digest(oneWorkflow))
	require.ErrorIs(t, err, journal.ErrNotFound)

	larger := newCatalog(t, store)
	_, err = larger.Push(t.Context(), PushRequest{Name: "one", Binary: oneWorkflow}, at(1))
	require.NoError(t, err)
	_, err = c.Module(t.Context(), wasm.Digest(oneWorkflow))
	require.NoError(t, err)
	require.Zero(t, c.Memory.Used())
}
