package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowUpdate() *cobra.Command {
	var ask askFlags
	var request requestID
	cmd := &cobra.Command{
		Use:   "update EXECUTION NAME",
		Short: "Ask an execution for a change and print the answer",
		Long: `Ask an execution for a change and print what its workflow answers. What it has
done is durable by then. The workflow may refuse the update; then nothing is
changed. 'module describe' shows which updates a workflow takes.

An update that was accepted takes effect, also if this command does not wait for
the answer. With --request-id the command can be repeated: the update takes
effect once, and the answer is the same.`,
		Example: `  cruster-host workflow update orders/ProcessOrder/order-42 change-address \
    --input '{"street":"Main St 1"}'`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &crusterv1.UpdateExecutionRequest{
				Namespace: a.namespace, Execution: args[0], Name: args[1], RequestId: request.id(),
				Encoding: jsonForm,
			}
			return a.askWith(cmd, &ask, func(ctx context.Context, c *client.Client, input *crusterv1.Payload) error {
				req.Input = input
				resp, err := c.Workflows().UpdateExecution(ctx, req)
				if err != nil {
					return err
				}
				if resp.GetError() != nil {
					return rpcerror.FromProto(resp.GetError())
				}
				return a.printValue(json.RawMessage(resp.GetValue().GetJson()))
			})
		},
	}
	request.add(cmd, "take effect once, and have the same answer")
	ask.add(cmd)
	return cmd
}

// printValue prints a value that an execution has answered with or published.
func (a *app) printValue(value json.RawMessage) error {
	return a.emit(value, func() error {
		_, err := fmt.Fprintln(a.stdout, view.Pretty(value))
		return err
	})
}
