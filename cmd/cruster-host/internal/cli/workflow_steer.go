package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
)

// doneView is what was done to an execution, or to one of its deferreds.
type doneView struct {
	Deferred  string `json:"deferred,omitempty"`
	Done      string `json:"done"`
	Execution string `json:"execution"`
}

// done prints that something was done; text says it to people.
func (a *app) done(v doneView, text string) error {
	return a.emit(v, func() error {
		target := v.Execution
		if v.Deferred != "" {
			target += " " + v.Deferred
		}
		_, err := fmt.Fprintf(a.stdout, "%s: %s\n", text, oneLine(target))
		return err
	})
}

func (a *app) workflowInterrupt() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:     "interrupt EXECUTION",
		Short:   "Ask an execution to stop",
		Long:    "Ask an execution to stop. It may clean up first; 'workflow wait' tells when it has.",
		Example: "  cruster-host workflow interrupt orders/ProcessOrder/order-42 --reason 'customer changed their mind'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				_, err := c.Workflows().Interrupt(cmd.Context(), &crusterv1.InterruptRequest{Namespace: a.namespace, Execution: args[0], Reason: reason})
				if err != nil {
					return err
				}
				if err := a.done(doneView{Done: "interrupted", Execution: args[0]}, "asked to stop"); err != nil {
					return err
				}
				return a.warnPaused(cmd.Context(), c, args[0])
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the workflow and for people")
	return cmd
}

// warnPaused tells that a paused execution does not hear of its interrupt until
// it is resumed.
func (a *app) warnPaused(ctx context.Context, c *client.Client, execution string) error {
	resp, err := c.Workflows().Poll(ctx, &crusterv1.PollRequest{Namespace: a.namespace, Execution: execution, Encoding: jsonForm})
	if err != nil {
		return err
	}
	if client.StateOf(resp.GetExecution().GetState()) == client.Paused {
		fmt.Fprintf(a.stderr, "note: it is paused and stops once it is resumed: %s\n", resumeLine(execution))
	}
	return nil
}

func (a *app) workflowResume() *cobra.Command {
	return &cobra.Command{
		Use:     "resume EXECUTION",
		Short:   "Continue a paused execution",
		Long:    "Continue a paused execution. 'workflow describe' tells why it was paused; unless\nthe cause is gone it will be paused again.",
		Example: "  cruster-host workflow resume orders/ProcessOrder/order-42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				_, err := c.Workflows().Resume(cmd.Context(), &crusterv1.ResumeRequest{Namespace: a.namespace, Execution: args[0]})
				if err != nil {
					return err
				}
				return a.done(doneView{Done: "resumed", Execution: args[0]}, "resumed")
			})
		},
	}
}

func (a *app) workflowFail() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "fail EXECUTION",
		Short: "End a paused execution for good",
		Long: `End a paused execution for good. Its code does not run again, so that nothing is
cleaned up; its journal stays readable. Clients and workflows that wait for its
result are told the reason. To stop a running execution, interrupt it.`,
		Example: "  cruster-host workflow fail orders/ProcessOrder/order-42 --reason 'started anew as order-42b'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				return usagef("--reason is missing: what are those told who wait for the result?")
			}
			return a.withClient(func(c *client.Client) error {
				_, err := c.Workflows().Fail(cmd.Context(), &crusterv1.FailRequest{Namespace: a.namespace, Execution: args[0], Reason: reason})
				if err != nil {
					return err
				}
				return a.done(doneView{Done: "failed", Execution: args[0]}, "failed for good")
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for those who wait for the result and for people")
	return cmd
}

func (a *app) deferredCommand() *cobra.Command {
	return group("deferred", "Settle the promises that executions wait for", `Settle the promises that executions wait for. A promise can be settled before the
workflow awaits it, and only once: the first settlement stands.`,
		a.deferredResolve(), a.deferredReject())
}

func (a *app) deferredResolve() *cobra.Command {
	var value string
	cmd := &cobra.Command{
		Use:     "resolve EXECUTION NAME",
		Short:   "Settle a promise with a value",
		Long:    "Settle a promise of an execution with a value.",
		Example: `  cruster-host deferred resolve approvals/Approve/doc-7 decision --value '{"approved":true}'`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &crusterv1.ResolveRequest{Namespace: a.namespace, Execution: args[0], Name: args[1]}
			text, err := a.readInput(&startFlags{input: value})
			if err != nil {
				return err
			}
			req.Value = &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: text}}
			return a.withClient(func(c *client.Client) error {
				if _, err := c.Deferreds().Resolve(cmd.Context(), req); err != nil {
					return err
				}
				return a.done(doneView{Deferred: args[1], Done: "resolved", Execution: args[0]}, "resolved")
			})
		},
	}
	cmd.Flags().StringVar(&value, "value", "null", "the value as JSON; - reads it from standard input")
	return cmd
}

func (a *app) deferredReject() *cobra.Command {
	var message, kind string
	cmd := &cobra.Command{
		Use:     "reject EXECUTION NAME",
		Short:   "Settle a promise with an error",
		Long:    "Settle a promise of an execution with an error.",
		Example: `  cruster-host deferred reject approvals/Approve/doc-7 decision --error 'not signed' --type unsigned`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if message == "" {
				return usagef("--error is missing: what is the workflow to be told?")
			}
			return a.withClient(func(c *client.Client) error {
				if err := c.Reject(cmd.Context(), args[0], args[1], message, kind); err != nil {
					return err
				}
				return a.done(doneView{Deferred: args[1], Done: "rejected", Execution: args[0]}, "rejected")
			})
		},
	}
	cmd.Flags().StringVar(&message, "error", "", "what to tell the workflow")
	cmd.Flags().StringVar(&kind, "type", "", "a name for the workflow to switch on")
	return cmd
}
