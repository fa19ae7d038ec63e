package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

func TestWriteOpenAfterChange(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, WriteOpenAfterChange(&out, nil, ""))
	require.Empty(t, out.String())

	c := NewCheck("shop")
	add := func(c *Check, key string, fits bool, state crusterv1.State) {
		c.Add(&crusterv1.CheckModuleResponse{
			Execution: &crusterv1.Execution{Name: "shop/Buy/" + key, Workflow: "shop/Buy", State: state},
			Fits:      fits,
			Reason:    "it leaves out a step",
		})
	}
	add(c, "1", true, crusterv1.State_STATE_RUNNING)
	require.NoError(t, WriteOpenAfterChange(&out, c, " --addr HOST:1"))
	require.Equal(t, `shop: 1 of 1 open executions fit this code, and stay on the module that they are on
  to move them to it:         cruster-host workflow move --workflow shop/ --addr HOST:1
`, out.String())

	out.Reset()
	add(c, "it's 2", false, crusterv1.State_STATE_RUNNING)
	require.NoError(t, WriteOpenAfterChange(&out, c, ""))
	require.Contains(t, out.String(), "shop/Buy: shop/Buy/it's 2 differs\n  it leaves out a step\n")
	require.Contains(
		t,
		out.String(),
		`shop: 1 of 2 open executions do not fit this code, and stay on the module that they are on
  to have them fit:           keep the steps that have run, or guard the change with Patched, and save
  to run one from a step on:  cruster-host workflow fork 'shop/Buy/it'\''s 2' --at SEQ --to latest
  to end one:                 cruster-host workflow interrupt 'shop/Buy/it'\''s 2'
shop: 1 of 2 open executions fit`,
	)

	// A paused execution stops only if it is resumed for that.
	out.Reset()
	add(c, "3", false, crusterv1.State_STATE_PAUSED)
	require.NoError(t, WriteOpenAfterChange(&out, c, " --addr HOST:1"))
	require.Contains(
		t,
		out.String(),
		`shop: 2 of 3 open executions do not fit this code, and stay on the module that they are on
  to have them fit:           keep the steps that have run, or guard the change with Patched, and save
  to have paused ones fit:    fix what they are paused for, keep the steps that have run, and save
  to run one from a step on:  cruster-host workflow fork 'shop/Buy/it'\''s 2' --at SEQ --to latest --addr HOST:1
  to end one:                 cruster-host workflow interrupt 'shop/Buy/it'\''s 2' --addr HOST:1
  to end a paused one:        cruster-host workflow interrupt shop/Buy/3 --resume --addr HOST:1
  or without its cleanup:     cruster-host workflow fail shop/Buy/3 --reason WHY --addr HOST:1
shop: 1 of 3 open executions fit`,
	)

	// The steps are the ways to end it.
	for code, steps := range map[string]string{
		"CR-2009": "  to end a paused one:        cruster-host workflow fail shop/Buy/p --reason WHY\n",
		"CR-4012": "  to end a paused one:        cruster-host workflow fail shop/Buy/p --reason WHY\n",
		"CR-2010": "  to end a paused one:        cruster-host workflow interrupt shop/Buy/p --resume  # if its code " +
			"gets there\n" +
			"  or without its cleanup:     cruster-host workflow fail shop/Buy/p --reason WHY\n",
	} {
		out.Reset()
		p := NewCheck("shop")
		p.Add(&crusterv1.CheckModuleResponse{Execution: &crusterv1.Execution{
			Name:     "shop/Buy/p",
			Workflow: "shop/Buy",
			State:    crusterv1.State_STATE_PAUSED,
			Error:    &crusterv1.Error{Code: code},
		}})
		require.NoError(t, WriteOpenAfterChange(&out, p, ""))
		require.Contains(t, out.String(), "--at SEQ --to latest\n"+steps, code)
	}

	out.Reset()
	c = NewCheck("shop")
	add(c, "3", false, crusterv1.State_STATE_PAUSED)
	require.NoError(t, WriteOpenAfterChange(&out, c, ""))
	require.Contains(
		t,
		out.String(),
		`shop: 1 of 1 open executions do not fit this code, and stay on the module that they are on
  to have paused ones fit:    fix what they are paused for, keep the steps that have run, and save
  to run one from a step on:  cruster-host workflow fork shop/Buy/3 --at SEQ --to latest
  to end a paused one:        cruster-host workflow interrupt shop/Buy/3 --resume
  or without its cleanup:     cruster-host workflow fail shop/Buy/3 --reason WHY
`,
	)
}

// Executions on the module already do not count as staying where they are, and untried ones are
// told.
func TestWriteOpenOnTheModule(t *testing.T) {
	t.Parallel()
	c := NewCheck("shop")
	c.Digest = "new"
	for key, digest := range map[string]string{"1": "new", "2": "old", "3": "new"} {
		c.Add(&crusterv1.CheckModuleResponse{
			Execution: &crusterv1.Execution{Name: "shop/Buy/" + key, Workflow: "shop/Buy", Digest: digest}, Fits: true,
		})
	}
	c.Skip("shop/Buy/loop")
	c.Skip("shop/Buy/other")
	var out strings.Builder
	require.NoError(t, WriteOpenAfterChange(&out, c, " --addr HOST:1"))
	require.Equal(
		t,
		`shop: 2 of 5 open executions are paused because a turn ran for too long, and were not tried on this code
  to try one:                 cruster-host workflow move shop/Buy/loop --to latest --addr HOST:1
shop: 2 of 5 open executions are on this module already
shop: 1 of 5 open executions fit this code, and stay on the module that they are on
  to move them to it:         cruster-host workflow move --workflow shop/ --addr HOST:1
`,
		out.String(),
	)
}

func TestWriteRedeployed(t *testing.T) {
	t.Parallel()
	d := &crusterv1.Deployment{
		Name: "shop", Version: 1, Digest: "0123456789abcdef", Workflows: []*crusterv1.WorkflowInfo{{Name: "Buy"}},
	}
	var out strings.Builder
	require.NoError(t, WriteRedeployed(&out, d, true, ""))
	require.Equal(
		t,
		"shop: deployed version 1, digest 0123456789ab\nshop: next:  cruster-host workflow execute shop/Buy --input null\n",
		out.String(),
	)
	out.Reset()
	d.Version = 2
	require.NoError(t, WriteRedeployed(&out, d, false, ""))
	require.Equal(t, "shop: deployed version 2, digest 0123456789ab\n", out.String(), "how to run it was said before")
	out.Reset()
	require.NoError(t, WriteUnchanged(&out, d, true, ""))
	require.Equal(
		t,
		"shop: unchanged: it is deployed already, as version 2, digest 0123456789ab\nshop: next:  cruster-host "+
			"workflow execute shop/Buy --input null\n",
		out.String(),
	)
}
