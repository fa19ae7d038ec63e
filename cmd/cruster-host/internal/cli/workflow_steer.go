package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowInterrupt() *cobra.Command {
	var reason string
	var resume bool
	cmd := &cobra.Command{
		Use:   "interrupt EXECUTION",
		Short: "Ask an execution to stop",
		Long: `Ask an execution to stop. It may clean up first; 'workflow wait' returns when it
has. The command returns when the request is durable: while the code computes it
waits for the turn to end, and says so.

With --resume one that is paused goes on for that: it cleans up and ends. If its
code cannot get there it is paused again, which is shown if it happens within
two seconds; move it to code that can, or fail it.`,
		Example: `  cruster-host workflow interrupt orders/ProcessOrder/order-42 \
    --reason 'customer changed their mind'
  cruster-host workflow interrupt orders/ProcessOrder/order-43 --resume \
    --reason 'its journal is too long'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				wasPaused := resume && a.isPaused(cmd.Context(), c, args[0])
				err := a.explaining(cmd.Context(), a.lookAtTurn(c, args[0]), func() error {
					return a.interrupt(cmd.Context(), c, args[0], reason, resume)
				})
				if err != nil {
					return err
				}
				if err := a.done(view.Done{Done: "interrupted", Execution: args[0]}, "asked to stop"); err != nil {
					return err
				}
				switch {
				case wasPaused:
					a.warnPausedAgain(cmd.Context(), c, args[0])
					return nil
				case resume:
					return nil
				}
				return a.warnPaused(cmd.Context(), c, args[0])
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the workflow and for people")
	cmd.Flags().BoolVar(&resume, "resume", false, "let it go on for that if it is paused")
	return cmd
}

// interrupt asks an execution to stop, and has it go on for that if it is to be resumed.
func (a *app) interrupt(ctx context.Context, c *client.Client, execution, reason string, resume bool) error {
	if resume {
		_, err := c.Workflows().ResumeExecution(ctx, &crusterv1.ResumeExecutionRequest{
			Namespace: a.namespace, Execution: execution, Interrupt: true, Reason: reason,
		})
		return err
	}
	_, err := c.Workflows().InterruptExecution(ctx, &crusterv1.InterruptExecutionRequest{
		Namespace: a.namespace, Execution: execution, Reason: reason,
	})
	return err
}

// warnPaused warns that a paused execution receives its interrupt only once it goes on, and says how
// it does.
func (a *app) warnPaused(ctx context.Context, c *client.Client, execution string) error {
	resp, err := c.Workflows().GetExecution(ctx, &crusterv1.GetExecutionRequest{
		Namespace: a.namespace, Execution: execution, Encoding: jsonForm,
	})
	if err != nil {
		return err
	}
	if client.StateOf(resp.GetExecution().GetState()) != client.Paused {
		return nil
	}
	fmt.Fprintln(a.stderr, "note: it is paused and stops once it goes on")
	a.suggest(view.RecoveryCommands(abi.Code(resp.GetExecution().GetError().GetCode()), execution, a.addrFlag()))
	return nil
}

// isPaused tells whether an execution is known to be paused.
func (a *app) isPaused(ctx context.Context, c *client.Client, execution string) bool {
	resp, err := c.Workflows().GetExecution(ctx, &crusterv1.GetExecutionRequest{
		Namespace: a.namespace, Execution: execution, Encoding: jsonForm,
	})
	return err == nil && client.StateOf(resp.GetExecution().GetState()) == client.Paused
}

// looksAfterResume is how long an execution resumed in order to stop is watched.
const looksAfterResume = 2 * time.Second

// warnPausedAgain tells of an execution that went on in order to stop, and whose code did not get
// there: the same cause pauses it again, mostly at once.
func (a *app) warnPausedAgain(ctx context.Context, c *client.Client, execution string) {
	resp, err := c.Workflows().WaitExecution(ctx, &crusterv1.WaitExecutionRequest{
		Namespace: a.namespace, Execution: execution, Encoding: jsonForm, Wait: durationpb.New(looksAfterResume),
	})
	if err != nil || client.StateOf(resp.GetExecution().GetState()) != client.Paused {
		return // it takes its time to clean up, and was asked to
	}
	again := resp.GetExecution().GetError()
	fmt.Fprintf(a.stderr, "note: it was paused again: %s: %s\n", again.GetCode(), terminal.OneLine(again.GetMessage()))
	a.suggest(view.RecoveryCommandsAfterStop(abi.Code(again.GetCode()), execution, a.addrFlag()))
}

// suggest shows the next command.
func (a *app) suggest(steps []string) {
	for _, step := range steps {
		fmt.Fprintf(a.stderr, "next: %s\n", step)
	}
}

func (a *app) workflowResume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume EXECUTION",
		Short: "Continue a paused execution",
		Long: "Continue a paused execution. 'workflow describe' says why it is paused; unless\nthe cause is gone " +
			"it will be paused again.",
		Example: "  cruster-host workflow resume orders/ProcessOrder/order-42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				_, err := c.Workflows().ResumeExecution(cmd.Context(), &crusterv1.ResumeExecutionRequest{
					Namespace: a.namespace, Execution: args[0],
				})
				if err != nil {
					return err
				}
				return a.done(view.Done{Done: "resumed", Execution: args[0]}, "resumed")
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
result get the reason. To stop a running execution, interrupt it.`,
		Example: `  cruster-host workflow fail orders/ProcessOrder/order-42 \
    --reason 'started anew as order-42b'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if reason == "" {
				return usage.Errorf("--reason is missing: what do callers get that wait for the result?")
			}
			return a.withClient(func(c *client.Client) error {
				_, err := c.Workflows().FailExecution(cmd.Context(), &crusterv1.FailExecutionRequest{
					Namespace: a.namespace, Execution: args[0], Reason: reason,
				})
				if err != nil {
					return err
				}
				return a.done(view.Done{Done: "failed", Execution: args[0]}, "failed for good")
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the callers that wait for the result and for people")
	return cmd
}
