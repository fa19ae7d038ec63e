package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

func (a *app) workflowQuery() *cobra.Command {
	var ask askFlags
	cmd := &cobra.Command{
		Use:   "query EXECUTION NAME",
		Short: "Ask an execution a question and print the answer",
		Long: `Ask a running execution a question and print the answer: what its workflow says
at this moment, also while it sleeps. Nothing is written, and nothing is
changed. 'module describe' shows which queries a workflow answers.`,
		Example: "  cruster-host workflow query orders/ProcessOrder/order-42 status",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &crusterv1.QueryExecutionRequest{
				Namespace: a.namespace, Execution: args[0], Name: args[1], Encoding: jsonForm,
			}
			return a.askWith(cmd, &ask, func(ctx context.Context, c *client.Client, input *crusterv1.Payload) error {
				req.Input = input
				resp, err := c.Workflows().QueryExecution(ctx, req)
				if err != nil {
					return err
				}
				return a.printValue(json.RawMessage(resp.GetValue().GetJson()))
			})
		},
	}
	ask.add(cmd)
	return cmd
}
