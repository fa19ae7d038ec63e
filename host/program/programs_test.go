package program

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/journal"
)

func TestCallsNameTheirDeploymentOrNone(t *testing.T) {
	t.Parallel()
	for workflow, want := range map[string]string{"Pay": "shop/Pay", "bank/Pay": "bank/Pay"} {
		req := CallOf("n", "shop", &abi.Call{Workflow: workflow, Input: []byte{1}, Key: "k", KeyMode: abi.KeyRaw})
		require.Equal(t, Request{Namespace: "n", Workflow: want, Input: []byte{1}, Key: "k", KeyMode: abi.KeyRaw}, req)
	}
}

func TestCheckWorkflow(t *testing.T) {
	t.Parallel()
	m := &catalog.Module{Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "A"}, {Name: "B"}}}}
	require.NoError(t, CheckWorkflow(m, &journal.Execution{Workflow: "shop/B", Key: "k"}))
	err := CheckWorkflow(m, &journal.Execution{Workflow: "shop/C", Key: "k"})
	require.Equal(t, abi.CodeDoesNotFit, abi.CodeOf(err))
	require.ErrorContains(t, err, `shop/C/k does not fit: the module has no workflow "C"`)
}
