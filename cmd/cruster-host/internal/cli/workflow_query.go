package cli

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
)

func (a *app) workflowQuery() *cobra.Command {
	var input string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "query EXECUTION NAME",
		Short: "Ask an execution a question and print the answer",
		Long: `Ask a running execution a question and print the answer: what its workflow says at
this moment, also while it sleeps. Nothing is written, and nothing is changed.
'module describe' shows which queries a workflow answers.`,
		Example: "  cruster-host workflow query orders/ProcessOrder/order-42 status",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &crusterv1.QueryRequest{Namespace: a.namespace, Execution: args[0], Name: args[1], Encoding: jsonForm}
			if cmd.Flags().Changed("input") {
				text, err := a.readInput(input, "")
				if err != nil {
					return err
				}
				req.Input = &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: text}}
			}
			ctx, cancel := bounded(cmd.Context(), timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().Query(ctx, req)
				if err != nil {
					return err
				}
				return a.printValue(json.RawMessage(resp.GetValue().GetJson()))
			})
		},
	}
	cmd.Flags().StringVar(&input, "input", "", "the input as JSON; - reads it from standard input; not needed if no field is required")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the answer; 0 means as long as it takes")
	return cmd
}
