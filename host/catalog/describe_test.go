package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// TestListsCompileNothing: a host that has just started lists its modules, without a look at code.
func TestListsCompileNothing(t *testing.T) {
	t.Parallel()
	store := newStore()
	first := newCatalog(t, store)
	pushed, err := first.Push(t.Context(), PushRequest{Namespace: "default", Name: "one", Binary: oneWorkflow}, at(1))
	require.NoError(t, err)
	require.NotEmpty(t, pushed.Manifest.Workflows)
	require.NotEmpty(t, pushed.Imports)

	second := newCatalog(t, store)
	for range 2 {
		list, err := second.List(t.Context(), "default")
		require.NoError(t, err)
		require.Equal(t, []DeploymentInfo{*pushed}, list)
		require.NoError(t, second.CheckWorkflow(t.Context(), "default", "one/W"))
		require.Equal(t, abi.CodeUnknownWorkflow, abi.CodeOf(second.CheckWorkflow(t.Context(), "default", "one/Other")))
		require.Equal(t, abi.CodeUnknownWorkflow, abi.CodeOf(second.CheckWorkflow(t.Context(), "default", "one")))
		require.Equal(t, abi.CodeDeploymentNotFound, abi.CodeOf(second.CheckWorkflow(t.Context(), "default", "two/W")))
	}
	require.Empty(t, second.byDigest)
	require.Len(t, second.descriptions, 1)

	described, err := second.Describe(t.Context(), "default", "one")
	require.NoError(t, err)
	require.Equal(t, pushed, described)
	require.Empty(t, second.descriptions, "it is known with the module")
	list, err := second.List(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, []DeploymentInfo{*pushed}, list)
}
