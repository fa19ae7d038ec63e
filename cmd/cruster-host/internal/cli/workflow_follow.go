package cli

import (
	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowFollow() *cobra.Command {
	req := client.FollowRequest{Encoding: jsonForm}
	cmd := &cobra.Command{
		Use:   "follow EXECUTION",
		Short: "See what happens to an execution, as it happens",
		Long: `See what happens to an execution, as it happens: the entries of its journal, and what
its workflow and its activities log from now on. It ends with the execution, and prints
the result. A paused execution is followed on, and so is the run that another continues as.

` + exitHelp,
		Example: `  cruster-host workflow follow orders/ProcessOrder/order-42
  cruster-host workflow follow orders/ProcessOrder/order-42 --after 12 -o jsonl`,
		Annotations: map[string]string{waitsAnnotation: "execution"},
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Execution = args[0]
			return a.withClient(func(c *client.Client) error { return a.follow(cmd, c, req) })
		},
	}
	cmd.Flags().Uint64Var(&req.After, "after", 0, "sequence number of the last entry seen")
	addRun(cmd, &req.Run)
	return cmd
}

// follow prints events until the execution is over.
func (a *app) follow(cmd *cobra.Command, c *client.Client, req client.FollowRequest) error {
	var last *crusterv1.Execution
	for m, err := range c.Follow(cmd.Context(), req) {
		if err != nil {
			return err
		}
		if e := m.GetExecution(); e != nil {
			told := last
			last = e
			if told.GetRunId() == e.GetRunId() && told.GetState() == e.GetState() {
				continue // the command has found its host again
			}
			if client.StateOf(e.GetState()).Final() && a.output == "table" {
				continue // the outcome says it
			}
		}
		if a.output == "table" {
			err = view.WriteFollowed(a.stdout, m)
		} else {
			err = a.writeJSON(view.FollowedOf(m), "")
		}
		if err != nil {
			return err
		}
	}
	if last == nil {
		return abi.Errorf(abi.CodeInternal, "the host told nothing about %s", req.Execution)
	}
	if a.output != "table" { // it is printed; the exit code says the rest
		return outcomeError(view.ExecutionOf(last), last.GetError())
	}
	return a.printOutcome(view.ExecutionOf(last), last.GetError())
}
