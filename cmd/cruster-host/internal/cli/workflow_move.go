package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowMove() *cobra.Command {
	var to, workflow, state string
	cmd := &cobra.Command{
		Use:   "move [EXECUTION]",
		Short: "Have executions go on with another module",
		Long: `Have a running or paused execution go on with another module: the one that the
deployment points at (latest), or one by its digest. The host replays the journal on
it first. If the module does not fit what the execution has done, nothing is changed
and both sides are shown. If it fits, the execution goes on there, also if it was
paused.

--workflow moves all open executions of a workflow, or of a deployment (DEPLOYMENT/),
and --state only those that are running or paused. Each is moved or left as it is,
and the table says which.

` + exitHelp,
		Example: `  cruster-host workflow move orders/ProcessOrder/order-42 --to latest
  cruster-host workflow move --workflow orders/ProcessOrder --state paused`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := parseState(state)
			if err != nil {
				return err
			}
			switch {
			case len(args) == 1 && (workflow != "" || state != ""):
				return usage.Errorf("name one EXECUTION, or many with --workflow, but not both")
			case len(args) == 1:
				return a.withClient(func(c *client.Client) error { return a.moveOne(cmd, c, args[0], to) })
			case workflow == "":
				return usage.Errorf("EXECUTION is missing; --workflow moves many")
			default:
				return a.withClient(func(c *client.Client) error {
					return a.moveAll(cmd, c, client.MoveAllRequest{Workflow: workflow, State: client.StateOf(wanted), To: to})
				})
			}
		},
	}
	cmd.Flags().StringVar(&to, "to", client.Latest, "the module: latest, or a digest")
	cmd.Flags().StringVar(&workflow, "workflow", "", "all open executions of this workflow or deployment")
	cmd.Flags().StringVar(&state, "state", "", "with --workflow: only those that are running or paused")
	return cmd
}

func (a *app) moveOne(cmd *cobra.Command, c *client.Client, execution, to string) error {
	moved, err := c.Move(cmd.Context(), execution, to)
	if err != nil {
		return err
	}
	return a.emit(view.MovedOf(&crusterv1.MoveResult{Execution: moved}), func() error { return view.WriteMove(a.stdout, moved, a.addrFlag()) })
}

// moveAll prints what became of each execution, also if the host stopped half-way.
func (a *app) moveAll(cmd *cobra.Command, c *client.Client, req client.MoveAllRequest) error {
	var results []*crusterv1.MoveResult
	var stopped error
	var first *crusterv1.Error // of those that were not moved
	views, unmoved := []view.Moved{}, 0
	line := newProgress(a.stderr, "done")
	for r, err := range c.MoveAll(cmd.Context(), req) {
		if err != nil {
			stopped = err
			break
		}
		results, views = append(results, r.GetResult()), append(views, view.MovedOf(r.GetResult()))
		if cause := r.GetResult().GetError(); cause != nil {
			unmoved++
			first = cmp.Or(first, cause)
		}
		line.at(r.GetDone(), 0)
	}
	line.end()
	whole := map[string]any{"executions": views, "moved": len(results) - unmoved, "unmoved": unmoved}
	err := emitAll(a, views, whole, func() error { return view.WriteMoves(a.stdout, results) })
	switch {
	case err != nil:
		return err
	case stopped != nil:
		return stopped
	case unmoved == 0:
		return nil
	}
	return abi.Errorf(abi.Code(first.GetCode()), "%d of %d executions were not moved", unmoved, len(results)).
		WithHint("They stay on the module that they are on. Keep the steps that have run as they were, or guard the change with Patched.")
}
