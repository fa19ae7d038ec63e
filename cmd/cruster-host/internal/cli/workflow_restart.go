package cli

import (
	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// ifFinishedWords are the values of --if-finished.
var ifFinishedWords = map[string]crusterv1.IfFinished{
	"return":         crusterv1.IfFinished_IF_FINISHED_RETURN,
	"restart":        crusterv1.IfFinished_IF_FINISHED_RESTART,
	"restart-failed": crusterv1.IfFinished_IF_FINISHED_RESTART_FAILED,
	"refuse":         crusterv1.IfFinished_IF_FINISHED_REFUSE,
}

func parseIfFinished(s string) (crusterv1.IfFinished, error) {
	p, ok := ifFinishedWords[s]
	if !ok {
		return 0, usage.Errorf("there is no --if-finished %q: choose return, restart, restart-failed or refuse", s)
	}
	return p, nil
}

func (a *app) workflowRestart() *cobra.Command {
	var input valueFlags
	var to string
	var request requestID
	cmd := &cobra.Command{
		Use:   "restart EXECUTION",
		Short: "Start a new run of a finished execution",
		Long: `Start a new run of an execution whose run is over, under the same key: with the
same request unless --input says otherwise, on the module that is deployed now
unless --to does. The run that is over stays to be read by its run id
('workflow describe' lists them) until retention deletes it. One that is not
over is refused: interrupt it first.`,
		Example: `  cruster-host workflow restart orders/ProcessOrder/order-42
  cruster-host workflow restart orders/ProcessOrder/order-42 \
    --input '{"order_id":"42","express":true}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := a.value(cmd, &input)
			if err != nil {
				return err
			}
			req := &crusterv1.RestartExecutionRequest{
				Namespace: a.namespace, Execution: args[0], Input: given, To: to, RequestId: request.id(),
			}
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().RestartExecution(cmd.Context(), req)
				if err != nil {
					return err
				}
				started := view.StartedExecutionOf(resp.GetExecution(), resp.GetExisted())
				return a.emit(started, func() error { return view.WriteRestart(a.stdout, started, a.addrFlag()) })
			})
		},
	}
	input.add(cmd, "input", "the request", "that of the run that is over if there is none")
	cmd.Flags().StringVar(&to, "to", client.Latest, "the module: latest, or a digest or the beginning of one")
	request.add(cmd, "start one run")
	return cmd
}

func (a *app) workflowDelete() *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "delete EXECUTION",
		Short: "Delete a finished execution",
		Long: `Delete an execution whose run is over, with its journal, all of its earlier
runs, what it was sent and what it is found by; or one run alone, by its id
(--run). One that is not over is refused. Its key is as good as new afterwards.
A workflow that still waits to read its result gets an error that says so.`,
		Example: "  cruster-host workflow delete orders/ProcessOrder/order-42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				if _, err := c.Workflows().DeleteExecution(cmd.Context(), &crusterv1.DeleteExecutionRequest{
					Namespace: a.namespace, Execution: args[0], RunId: run,
				}); err != nil {
					return err
				}
				return a.done(view.Done{Done: "deleted", Execution: args[0], Run: run}, "deleted")
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "the id of one of its runs, which alone is deleted")
	return cmd
}

// addRun adds the flag that names a run of an execution.
func addRun(cmd *cobra.Command, run *string) {
	cmd.Flags().StringVar(
		run, "run", "", "the id of one of its runs, as 'workflow describe' lists them (default: the newest)",
	)
}
