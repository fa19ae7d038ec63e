package cli

import (
	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) deferredCommand() *cobra.Command {
	return group(
		"deferred",
		"Settle the promises that executions wait for",
		`Settle the promises that executions wait for. A promise can be settled before
the workflow awaits it, and only once: the first settlement stands.
'module describe' shows the promises of a workflow and their types; nothing else
is settled.`,
		`  cruster-host deferred resolve approvals/Approve/doc-7 decision \
    --input '{"approved":true}'`,
		a.deferredResolve(),
		a.deferredReject(),
	)
}

func (a *app) deferredResolve() *cobra.Command {
	var value valueFlags
	cmd := &cobra.Command{
		Use:   "resolve EXECUTION NAME",
		Short: "Settle a promise with a value",
		Long:  "Settle a promise of an execution with a value.",
		Example: `  cruster-host deferred resolve approvals/Approve/doc-7 decision \
    --input '{"approved":true}'`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := a.value(cmd, &value)
			if err != nil {
				return err
			}
			req := &crusterv1.ResolveDeferredRequest{
				Namespace: a.namespace, Execution: args[0], Name: args[1], Value: given,
			}
			return a.withClient(func(c *client.Client) error {
				if _, err := c.Deferreds().ResolveDeferred(cmd.Context(), req); err != nil {
					return err
				}
				return a.done(view.Done{Deferred: args[1], Done: "resolved", Execution: args[0]}, "resolved")
			})
		},
	}
	value.add(cmd, "input", "the value", notNeeded)
	return cmd
}

func (a *app) deferredReject() *cobra.Command {
	var message, kind string
	cmd := &cobra.Command{
		Use:   "reject EXECUTION NAME",
		Short: "Settle a promise with an error",
		Long:  "Settle a promise of an execution with an error.",
		Example: `  cruster-host deferred reject approvals/Approve/doc-7 decision \
    --error 'not signed' --type unsigned`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if message == "" {
				return usage.Errorf("--error is missing: what does the workflow get?")
			}
			return a.withClient(func(c *client.Client) error {
				if err := c.Reject(cmd.Context(), args[0], args[1], message, kind); err != nil {
					return err
				}
				return a.done(view.Done{Deferred: args[1], Done: "rejected", Execution: args[0]}, "rejected")
			})
		},
	}
	cmd.Flags().StringVar(&message, "error", "", "what to tell the workflow")
	cmd.Flags().StringVar(&kind, "type", "", "a name for the workflow to switch on")
	return cmd
}
