package view

import (
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

func TestSuggestedCommands(t *testing.T) {
	t.Parallel()
	require.Equal(t, "cruster-host workflow resume a/B/c", ResumeCommand("a/B/c"))
	require.Equal(t, "cruster-host workflow resume 'a/B/two lines'", ResumeCommand("a/B/two\nlines"))
	require.Equal(t, "cruster-host workflow wait 'a/B/$HOME' --addr h:1", WaitCommand("a/B/$HOME", " --addr h:1"))
	workflow := &crusterv1.WorkflowInfo{Name: "Buy", Input: &crusterv1.Schema{Type: "string"}}
	require.Equal(
		t, `cruster-host workflow execute shop/Buy --input '"…"'`,
		executeCommand(&crusterv1.Deployment{Name: "shop"}, workflow, ""),
	)
}
