package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

const jsonForm = crusterv1.Encoding_ENCODING_JSON

func (a *app) workflowCommand() *cobra.Command {
	return group("workflow",
		"Run workflows and look at executions",
		`Run workflows and look at executions.

Workflows are named DEPLOYMENT/WORKFLOW, executions DEPLOYMENT/WORKFLOW/KEY. The
key decides what is the same execution: a second start with it finds the first,
unless --if-finished says what else to do with one that is over.`,
		`  cruster-host workflow execute orders/ProcessOrder --input '{"order_id":"42"}'
  cruster-host workflow list --state paused`,
		a.workflowExecute(),
		a.workflowStart(),
		a.workflowPoll(),
		a.workflowWait(),
		a.workflowDescribe(),
		a.workflowHistory(),
		a.workflowFollow(),
		a.workflowList(),
		a.workflowSignal(),
		a.workflowSignalWithStart(),
		a.workflowQuery(),
		a.workflowUpdate(),
		a.workflowState(),
		a.workflowInterrupt(),
		a.workflowTerminate(),
		a.workflowResume(),
		a.workflowFail(),
		a.workflowMove(),
		a.workflowFork(),
		a.workflowRestart(),
		a.workflowDelete(),
	)
}

// bounded derives the context of a call from the --timeout flag.
func bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

func (a *app) workflowExecute() *cobra.Command {
	var f startFlags
	var request requestID
	cmd := &cobra.Command{
		Use:   "execute WORKFLOW",
		Short: "Run a workflow and print its result",
		Long: `Run a workflow and print its result. If it was run with the same key before, the
result of that execution is printed, and a note says so. When the timeout passes
or the command is interrupted the workflow goes on: run the command again to
wait for it.

` + exitHelp,
		Example: `  cruster-host workflow execute orders/ProcessOrder --input '{"order_id":"42"}'
  cruster-host workflow execute orders/ProcessOrder --input-file order.json \
    --raw-key order-42 --timeout 30s`,
		Annotations: map[string]string{waitsAnnotation: "execution"},
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := a.startOptions(&f, cmd, args[0])
			if err != nil {
				return err
			}
			start.RequestId = request.id()
			ctx, cancel := bounded(cmd.Context(), f.timeout)
			defer cancel()
			began := a.now()
			return a.withClient(func(c *client.Client) error {
				exec, existed, err := c.Execute(ctx, start, jsonForm)
				if err != nil {
					return err
				}
				if note := view.ExistedNote(exec, began, a.addrFlag()); existed && note != "" && a.output == "table" {
					fmt.Fprintln(a.stderr, note)
				}
				return a.printOutcome(view.StartedExecutionOf(exec, existed), exec.GetError())
			})
		},
	}
	f.add(cmd)
	request.add(cmd, "start one run, also with --if-finished")
	return cmd
}

// printOutcome prints the result of an execution, or returns why there is none.
func (a *app) printOutcome(v view.Execution, cause *crusterv1.Error) error {
	completed := v.State == client.Completed
	err := a.emit(v, func() error {
		if completed {
			fmt.Fprintln(a.stdout, view.Pretty(v.Result))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return outcomeError(v, cause)
}

// outcomeError is the error of an execution that has not completed.
func outcomeError(v view.Execution, cause *crusterv1.Error) error {
	if v.State == client.Completed {
		return nil
	}
	return &client.RunError{Execution: v.Name, State: v.State, Cause: rpcerror.FromProto(cause)}
}

func (a *app) workflowStart() *cobra.Command {
	var f startFlags
	var request requestID
	cmd := &cobra.Command{
		Use:   "start WORKFLOW",
		Short: "Start a workflow and print the name of its execution",
		Long: `Start a workflow and print the name of its execution as soon as the start is
durable. If it was started with the same key before, that execution is named.`,
		Example: `  cruster-host workflow start orders/ProcessOrder --input '{"order_id":"42"}'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := a.startOptions(&f, cmd, args[0])
			if err != nil {
				return err
			}
			start.RequestId = request.id()
			ctx, cancel := bounded(cmd.Context(), f.timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().StartExecution(
					ctx, &crusterv1.StartExecutionRequest{Start: start, Encoding: jsonForm},
				)
				if err != nil {
					return err
				}
				started := view.StartedExecutionOf(resp.GetExecution(), resp.GetExisted())
				return a.emit(started, func() error { return view.WriteStart(a.stdout, started, a.addrFlag()) })
			})
		},
	}
	f.add(cmd)
	request.add(cmd, "start one run, also with --if-finished")
	return cmd
}

func (a *app) workflowPoll() *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:     "poll EXECUTION",
		Short:   "Show how far an execution is",
		Long:    "Show how far an execution is, at once, with its result or error if it is over.",
		Example: "  cruster-host workflow poll orders/ProcessOrder/order-42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().GetExecution(cmd.Context(), &crusterv1.GetExecutionRequest{
					Namespace: a.namespace, Execution: args[0], RunId: run, Encoding: jsonForm,
				})
				if err != nil {
					return err
				}
				return a.emit(view.ExecutionOf(resp.GetExecution()), func() error {
					return view.WriteExecution(a.stdout, resp.GetExecution(), a.addrFlag())
				})
			})
		},
	}
	addRun(cmd, &run)
	return cmd
}

func (a *app) workflowWait() *cobra.Command {
	var timeout time.Duration
	var run string
	cmd := &cobra.Command{
		Use:         "wait EXECUTION",
		Short:       "Wait for an execution and print its result",
		Long:        "Wait for an execution and print its result.\n\n" + exitHelp,
		Example:     "  cruster-host workflow wait orders/ProcessOrder/order-42 --timeout 1m",
		Annotations: map[string]string{waitsAnnotation: "execution"},
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := bounded(cmd.Context(), timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				exec, err := c.Await(ctx, &crusterv1.WaitExecutionRequest{
					Namespace: a.namespace, Execution: args[0], RunId: run, Encoding: jsonForm,
				})
				if err != nil {
					return err
				}
				return a.printOutcome(view.ExecutionOf(exec), exec.GetError())
			})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0 means as long as it takes")
	addRun(cmd, &run)
	return cmd
}
