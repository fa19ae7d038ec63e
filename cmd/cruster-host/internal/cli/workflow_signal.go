package cli

import (
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// signalFlags are the flags of a signal.
type signalFlags struct {
	value     valueFlags
	requestID requestID
}

// add adds the flags. The value of the signal has a flag of the given name.
func (f *signalFlags) add(cmd *cobra.Command, name string) {
	f.value.add(cmd, name, "the value of the signal", notNeeded)
	f.requestID.add(cmd, "send one signal")
}

// signalOptions makes the request of a signal.
func (a *app) signalOptions(f *signalFlags, cmd *cobra.Command, name string) (*crusterv1.SignalOptions, error) {
	value, err := a.value(cmd, &f.value)
	if err != nil {
		return nil, err
	}
	// A start that comes with the signal has the request id of the signal.
	return &crusterv1.SignalOptions{Name: name, Value: value, RequestId: f.requestID.id()}, nil
}

func (a *app) workflowSignal() *cobra.Command {
	var f signalFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "signal EXECUTION NAME",
		Short: "Send a signal to an execution",
		Long: `Send a signal to an execution. The command returns when the signal is durable;
the workflow receives it when it asks for it, in the order in which signals were
sent. 'module describe' shows which signals a workflow can be sent.`,
		Example: `  cruster-host workflow signal orders/ProcessOrder/order-42 paid \
    --input '{"cents":300}'`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal, err := a.signalOptions(&f, cmd, args[1])
			if err != nil {
				return err
			}
			ctx, cancel := bounded(cmd.Context(), timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				if _, err := c.Workflows().SignalExecution(ctx, &crusterv1.SignalExecutionRequest{
					Namespace: a.namespace, Execution: args[0], Signal: signal,
				}); err != nil {
					return err
				}
				return a.done(view.Done{Done: "signalled", Execution: args[0], Signal: args[1]}, "sent")
			})
		},
	}
	f.add(cmd, "input")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the answer; 0 means as long as it takes")
	return cmd
}

func (a *app) workflowSignalWithStart() *cobra.Command {
	var f signalFlags
	var start startFlags
	cmd := &cobra.Command{
		Use:   "signal-with-start WORKFLOW NAME",
		Short: "Send a signal, and start the execution if it is not there",
		Long: `Send a signal to the execution that a start with the same flags finds, and start
it if it is not there. Start and signal are durable together, or neither is.
--input is the request of the start, --signal-input the value of the signal.`,
		Example: `  cruster-host workflow signal-with-start orders/ProcessOrder paid \
    --raw-key order-42 --input '{"order_id":"42"}' \
    --signal-input '{"cents":300}'`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			signal, err := a.signalOptions(&f, cmd, args[1])
			if err != nil {
				return err
			}
			options, err := a.startOptions(&start, cmd, args[0])
			if err != nil {
				return err
			}
			ctx, cancel := bounded(cmd.Context(), start.timeout)
			defer cancel()
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
	f.add(cmd, "signal-input")
	start.add(cmd)
	return cmd
}
