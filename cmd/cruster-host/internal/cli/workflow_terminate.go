package cli

import (
	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowTerminate() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "terminate EXECUTION",
		Short: "End an execution at once, without its cleanup",
		Long: `End an execution at once, running or paused. Its code does not run again, so
that nothing is cleaned up; its locks are free, and what it has called is given
up. Callers that wait for its result get the reason. This is for one that does
not heed 'workflow interrupt', which lets it clean up, also because its code
never returns.`,
		Example: `  cruster-host workflow terminate orders/ProcessOrder/order-42 \
    --reason 'does not stop'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				return usage.Errorf("--reason is missing: what do callers get that wait for the result?")
			}
			return a.withClient(func(c *client.Client) error {
				req := &crusterv1.TerminateExecutionRequest{
					Namespace: a.namespace, Execution: args[0], Reason: reason,
				}
				if _, err := c.Workflows().TerminateExecution(cmd.Context(), req); err != nil {
					return err
				}
				return a.done(view.Done{Done: "terminated", Execution: args[0]}, "terminated")
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the callers that wait for the result and for people")
	return cmd
}
