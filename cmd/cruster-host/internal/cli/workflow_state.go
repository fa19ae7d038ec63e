package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowState() *cobra.Command {
	return &cobra.Command{
		Use:   "state EXECUTION [NAME]",
		Short: "Show what an execution has published",
		Long: `Show what an execution has published: its state, the attributes that it is found
by, and how far it is. With NAME, print that value of its state alone. The
execution does not run for that, and may be over. 'module describe' shows what a
workflow publishes.`,
		Example: `  cruster-host workflow state orders/ProcessOrder/order-42
  cruster-host workflow state orders/ProcessOrder/order-42 stage -o json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &crusterv1.GetExecutionStateRequest{Namespace: a.namespace, Execution: args[0], Encoding: jsonForm}
			if len(args) > 1 {
				req.Name = args[1]
			}
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().GetExecutionState(cmd.Context(), req)
				switch {
				case err != nil:
					return err
				case len(args) == 1:
					return a.emit(view.PublishedOf(resp), func() error { return view.WritePublished(a.stdout, resp) })
				case len(resp.GetState()) == 0:
					return abi.Errorf(abi.CodeUnknownState, "%s has not published %q", args[0], args[1]).WithHint(
						"It may do so later, or has taken it back.",
					)
				}
				return a.printValue(json.RawMessage(resp.GetState()[0].GetValue().GetJson()))
			})
		},
	}
}
