package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestWorkflow(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, newStore())
	info, err := c.Push(t.Context(), PushRequest{Namespace: "default", Name: "tiny", Binary: oneWorkflow}, at(1))
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
	for workflow, message := range map[string]string{
		"tiny/w":    `deployment "tiny" has no workflow "w"; did you mean "W"?`,
		"tiny/Refd": `deployment "tiny" has no workflow "Refd"`,
		"tinny/W":   `there is no deployment "tinny"; did you mean "tiny"?`,
		"Tiny/W":    `there is no deployment "Tiny"; did you mean "tiny"?`,
		"other/W":   `there is no deployment "other"`,
	} {
		_, err = c.Workflow(t.Context(), "default", workflow)
		require.Equal(t, message, abi.AsError(err).Message)
	}
	_, err = c.Workflow(t.Context(), "elsewhere", "tiny/W")
	require.Equal(
		t, `there is no deployment "tiny" in namespace "elsewhere": nothing is deployed there`,
		abi.AsError(err).Message,
	)
	require.Equal(t, abi.CodeDeploymentNotFound, abi.CodeOf(err), "a namespace sees its own deployments")
}
