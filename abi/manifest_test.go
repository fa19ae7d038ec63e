package abi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestWorkflowsOfAManifest(t *testing.T) {
	t.Parallel()
	m := &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "Buy"}, {Name: "Refund"}}}
	w, err := m.Workflow("shop", "Refund")
	require.NoError(t, err)
	require.Same(t, &m.Workflows[1], w)

	_, err = m.Workflow("shop", "Refnd")
	require.EqualError(t, err, `CR-2001: deployment "shop" has no workflow "Refnd"; did you mean "Refund"?`)
	require.Equal(t, "It has shop/Buy, shop/Refund.", abi.AsError(err).Hint)
	_, err = m.Workflow("shop", "Cancel")
	require.EqualError(t, err, `CR-2001: deployment "shop" has no workflow "Cancel"`)
	_, err = (&abi.Manifest{}).Workflow("shop", "Buy")
	require.Equal(t, "Its module declares no workflows.", abi.AsError(err).Hint)
}

func TestHasActivity(t *testing.T) {
	t.Parallel()
	m := abi.Manifest{Activities: []abi.ActivityInfo{{Name: "charge"}}}
	require.True(t, m.HasActivity("charge"))
	require.False(t, m.HasActivity("take"))
	require.True(t, (&abi.Manifest{}).HasActivity("take"), "it does not say")
}
