package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal/memory"
)

func TestWorkflow(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, memory.New())
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

func TestAbsentInput(t *testing.T) {
	t.Parallel()
	text := &abi.Schema{Type: abi.TypeString}
	optional := &abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{{Name: "a", Schema: text}}}
	nullable := &abi.Schema{Type: abi.TypeStruct, Nullable: true}
	required := &abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{{Name: "a", Schema: text}, {Name: "b", Required: true, Schema: text}}}
	empty := abi.MustMarshal(map[string]any{})
	for name, c := range map[string]struct {
		schema *abi.Schema
		want   []byte // nil: it is refused
	}{
		"nothing is asked for":  {&abi.Schema{Type: abi.TypeStruct}, empty},
		"all of it is optional": {optional, empty},
		"null fits":             {nullable, abi.Nil},
		"anything fits":         {nil, abi.Nil},
		"a field is required":   {required, nil},
		"it is not a struct":    {text, nil},
	} {
		got, err := CheckInput(&abi.WorkflowInfo{Name: "W", Input: c.schema}, nil)
		if c.want == nil {
			require.Equal(t, abi.CodeBadInput, abi.CodeOf(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := CheckInput(&abi.WorkflowInfo{Name: "W", Input: optional}, abi.Nil)
	require.Equal(t, abi.CodeBadInput, abi.CodeOf(err), "null is not the same as nothing")
}
