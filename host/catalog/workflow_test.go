package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestWorkflow(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, newStore())
	info, err := c.Push(t.Context(), PushRequest{Namespace: "default", Name: "tiny", Binary: oneWorkflow}, 1)
	require.NoError(t, err)
	w, err := c.Workflow(t.Context(), "default", "tiny/W")
	require.NoError(t, err)
	require.Equal(t, "W", w.Name)
	require.Equal(t, info.Digest, w.Digest)
	require.Equal(t, info.Digest, w.Module.Code.Digest())

	for workflow, code := range map[string]abi.Code{
		"":           abi.CodeUnknownWorkflow,
		"tiny":       abi.CodeUnknownWorkflow,
		"/W":         abi.CodeUnknownWorkflow,
		"tiny/":      abi.CodeUnknownWorkflow,
		"tiny/Other": abi.CodeUnknownWorkflow,
		"other/W":    abi.CodeDeploymentNotFound,
		"\x00/W":     abi.CodeDeploymentNotFound,
	} {
		_, err := c.Workflow(t.Context(), "default", workflow)
		require.Equal(t, code, abi.CodeOf(err), "%q", workflow)
	}
	_, err = c.Workflow(t.Context(), "default", "tiny/Other")
	require.Equal(t, "It has tiny/W.", abi.AsError(err).Hint)
	_, err = c.Workflow(t.Context(), "elsewhere", "tiny/W")
	require.Equal(t, abi.CodeDeploymentNotFound, abi.CodeOf(err), "a namespace sees its own deployments")
}
