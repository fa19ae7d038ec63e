package cli

import (
	"crypto/rand"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// signalFlags are the flags of a signal.
type signalFlags struct{ value, requestID string }

func (a *app) workflowSignal() *cobra.Command {
	var f signalFlags
	var start startFlags
	var workflow string
	cmd := &cobra.Command{
		Use:   "signal EXECUTION NAME",
		Short: "Send a signal to an execution",
		Long: `Send a signal to an execution. The command returns when the signal is durable;
the workflow receives it when it asks for it, in the order in which signals were
sent. 'module describe' shows which signals a workflow can be sent.

With --start, the execution is named by its workflow and its key, and is started
if it is not there: then start and signal are durable together, or neither is.`,
		Example: `  cruster-host workflow signal orders/ProcessOrder/order-42 paid \
    --value '{"cents":300}'
  cruster-host workflow signal paid --start orders/ProcessOrder \
    --raw-key order-42 --input '{"order_id":"42"}' --value '{"cents":300}'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case workflow == "" && len(args) != 2:
				return usage.Errorf("a signal needs an execution and a name, or --start and a name")
			case workflow != "" && len(args) != 1:
				return usage.Errorf("with --start the execution is named by its workflow and its key")
			}
			signal, err := a.signalOptions(&f, cmd, args[len(args)-1])
			if err != nil {
				return err
			}
			ctx, cancel := bounded(cmd.Context(), start.timeout)
			defer cancel()
			if workflow == "" {
				return a.withClient(func(c *client.Client) error {
					if _, err := c.Workflows().SignalExecution(ctx, &crusterv1.SignalExecutionRequest{
						Namespace: a.namespace, Execution: args[0], Signal: signal,
					}); err != nil {
						return err
					}
					return a.done(view.Done{Done: "signalled", Execution: args[0], Signal: args[1]}, "sent")
				})
			}
			options, err := a.startOptions(&start, cmd, workflow)
			if err != nil {
				return err
			}
			options.RequestId = "" // the signal's type is meant
			if options.GetIfFinished() != 0 && signal.GetRequestId() == "" {
				signal.RequestId = rand.Text()
			}
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().SignalWithStart(ctx, &crusterv1.SignalWithStartRequest{
					Start: options, Signal: signal, Encoding: jsonForm,
				})
				if err != nil {
					return err
				}
				started := view.StartedExecutionOf(resp.GetExecution(), resp.GetExisted())
				return a.emit(started, func() error { return view.WriteStart(a.stdout, started, a.addrFlag()) })
			})
		},
	}
	cmd.Flags().StringVar(
		&f.value, "value", "", "the value as JSON; - reads it from standard input; not needed if no field is required",
	)
	cmd.Flags().StringVar(
		&f.requestID, "request-id", "",
		"makes it safe to repeat the command: a signal with the same id is received once",
	)
	cmd.Flags().StringVar(&workflow, "start", "", "the workflow to start if there is no execution with the key")
	start.add(cmd)
	return cmd
}

// signalOptions makes the request of a signal.
func (a *app) signalOptions(f *signalFlags, cmd *cobra.Command, name string) (*crusterv1.SignalOptions, error) {
	signal := &crusterv1.SignalOptions{Name: name, RequestId: f.requestID}
	if cmd.Flags().Changed("value") {
		text, err := a.readInput(f.value, "")
		if err != nil {
			return nil, err
		}
		signal.Value = &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: text}}
	}
	return signal, nil
}
