package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/client"
)

const jsonForm = crusterv1.Encoding_ENCODING_JSON

func (a *app) workflowCommand() *cobra.Command {
	return group("workflow", "Run workflows and look at executions", `Run workflows and look at executions.

Workflows are named DEPLOYMENT/WORKFLOW, executions DEPLOYMENT/WORKFLOW/KEY. The
key decides what is the same execution: a second start with it finds the first.`,
		a.workflowExecute(), a.workflowStart(), a.workflowPoll(), a.workflowWait(), a.workflowDescribe(), a.workflowHistory(),
		a.workflowList(), a.workflowInterrupt(), a.workflowResume(), a.workflowFail())
}

// startFlags are those of execute and start.
type startFlags struct {
	input, inputFile, key, rawKey string
	timeout                       time.Duration
}

func (f *startFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "", "the request as JSON; - reads it from standard input; not needed if no field is required")
	flags.StringVar(&f.inputFile, "input-file", "", "a file with the request as JSON; - is standard input")
	flags.StringVar(&f.key, "key", "", "idempotency key, hashed by the host, instead of the workflow's own")
	flags.StringVar(&f.rawKey, "raw-key", "", "idempotency key that is used as it is")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait for the answer; 0 means as long as it takes")
}

// options makes the request of a start.
func (a *app) options(f *startFlags, cmd *cobra.Command, workflow string) (*crusterv1.StartOptions, error) {
	for _, pair := range [][2]string{{"input", "input-file"}, {"key", "raw-key"}} {
		if cmd.Flags().Changed(pair[0]) && cmd.Flags().Changed(pair[1]) {
			return nil, usagef("--%s and --%s exclude each other", pair[0], pair[1])
		}
	}
	input, err := a.readInput(f)
	if err != nil {
		return nil, err
	}
	start := &crusterv1.StartOptions{Namespace: a.namespace, Workflow: workflow}
	if input != "" {
		start.Input = &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: input}}
	}
	switch {
	case cmd.Flags().Changed("key"):
		start.Idempotency = &crusterv1.StartOptions_Key{Key: f.key}
	case cmd.Flags().Changed("raw-key"):
		start.Idempotency = &crusterv1.StartOptions_RawKey{RawKey: f.rawKey}
	}
	return start, nil
}

func (a *app) readInput(f *startFlags) (string, error) {
	switch {
	case f.input == "-" || f.inputFile == "-":
		return readBounded(a.stdin, "standard input")
	case f.inputFile != "":
		file, err := os.Open(f.inputFile)
		if err != nil {
			return "", inputf("cannot read the input: %w", err)
		}
		defer file.Close() // only read from
		return readBounded(file, f.inputFile)
	default:
		return f.input, nil
	}
}

func readBounded(r io.Reader, name string) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, payload.MaxJSON+1))
	if err != nil {
		return "", inputf("cannot read the input: %w", err)
	}
	if len(raw) > payload.MaxJSON {
		return "", inputf("%s has more than %d bytes", name, payload.MaxJSON)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return "", inputf("%s is empty: it must hold JSON", name)
	}
	return string(raw), nil
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
	cmd := &cobra.Command{
		Use:   "execute WORKFLOW",
		Short: "Run a workflow and print its result",
		Long: `Run a workflow and print its result. If it was run with the same key before, the
result of that execution is printed. When the timeout passes or the command is
interrupted the workflow goes on: run the command again to wait for it.

` + exitHelp,
		Example: `  cruster-host workflow execute orders/ProcessOrder --input '{"order_id":"42"}'
  cruster-host workflow execute orders/ProcessOrder --input-file order.json --raw-key order-42 --timeout 30s`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := a.options(&f, cmd, args[0])
			if err != nil {
				return err
			}
			ctx, cancel := bounded(cmd.Context(), f.timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().Execute(ctx, &crusterv1.ExecuteRequest{Start: start, Encoding: jsonForm})
				if err != nil {
					return err
				}
				existed := resp.GetExisted()
				return a.printOutcome(resp.GetExecution(), &existed)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// printOutcome prints the result of an execution, or returns why there is none.
func (a *app) printOutcome(exec *crusterv1.Execution, existed *bool) error {
	view := viewExecution(exec)
	view.Existed = existed
	completed := view.State == client.Completed
	err := a.emit(view, func() error {
		if completed {
			fmt.Fprintln(a.stdout, pretty(view.Result, ""))
		}
		return nil
	})
	if err != nil || completed {
		return err
	}
	return &client.RunError{Execution: view.Name, State: view.State, Cause: rpcerror.FromProto(exec.GetError())}
}

func (a *app) workflowStart() *cobra.Command {
	var f startFlags
	cmd := &cobra.Command{
		Use:   "start WORKFLOW",
		Short: "Start a workflow and print the name of its execution",
		Long: `Start a workflow and print the name of its execution as soon as the start is
durable. If it was started with the same key before, that execution is named.`,
		Example: `  cruster-host workflow start orders/ProcessOrder --input '{"order_id":"42"}'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := a.options(&f, cmd, args[0])
			if err != nil {
				return err
			}
			ctx, cancel := bounded(cmd.Context(), f.timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().Start(ctx, &crusterv1.StartRequest{Start: start, Encoding: jsonForm})
				if err != nil {
					return err
				}
				view, existed := viewExecution(resp.GetExecution()), resp.GetExisted()
				view.Existed = &existed
				return a.emit(view, func() error {
					return a.lines(line{"execution", oneLine(view.Name)}, line{"state", string(view.State)}, line{"existed", yesNo(existed)},
						line{"next", "cruster-host workflow wait " + quoteShell(view.Name) + a.addrFlag()})
				})
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) workflowPoll() *cobra.Command {
	return &cobra.Command{
		Use:     "poll EXECUTION",
		Short:   "Show how far an execution is",
		Long:    "Show how far an execution is, at once, with its result or error if it is over.",
		Example: "  cruster-host workflow poll orders/ProcessOrder/order-42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().Poll(cmd.Context(), &crusterv1.PollRequest{Namespace: a.namespace, Execution: args[0], Encoding: jsonForm})
				if err != nil {
					return err
				}
				view := viewExecution(resp.GetExecution())
				return a.emit(view, func() error { return a.lines(executionLines(resp.GetExecution())...) })
			})
		},
	}
}

func (a *app) workflowWait() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "wait EXECUTION",
		Short:   "Wait for an execution and print its result",
		Long:    "Wait for an execution and print its result.\n\n" + exitHelp,
		Example: "  cruster-host workflow wait orders/ProcessOrder/order-42 --timeout 1m",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := bounded(cmd.Context(), timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().Wait(ctx, &crusterv1.WaitRequest{Namespace: a.namespace, Execution: args[0], Encoding: jsonForm})
				if err != nil {
					return err
				}
				return a.printOutcome(resp.GetExecution(), nil)
			})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0 means as long as it takes")
	return cmd
}

// executionLines are an execution for people.
func executionLines(e *crusterv1.Execution) []line {
	v := viewExecution(e)
	all := []line{
		{"execution", oneLine(v.Name)},
		{"state", string(v.State)},
		{"created", when(e.GetCreatedAt())},
		{"finished", when(e.GetFinishedAt())},
		{"module", shortDigest(v.Digest)},
		{"result", pretty(v.Result, "")},
	}
	if v.Error != nil {
		all = append(all, line{"error", oneLine(errorText(v.Error))}, line{"hint", cmp.Or(causeHint(abi.Code(v.Error.Code), v.Error.Message), v.Error.Hint)})
	}
	if v.InterruptedAt != nil {
		asked := when(e.GetInterruption().GetAt())
		if v.InterruptReason != "" {
			asked += " " + oneLine(v.InterruptReason)
		}
		all = append(all, line{"interrupt", asked})
	}
	if v.State == client.Paused {
		all = append(all, line{"next", resumeLine(v.Name) + ", once the cause is gone"})
	}
	return append(all, line{"parent", v.ParentID})
}

func errorText(e *errorView) string {
	if e == nil {
		return ""
	}
	text := e.Message
	if e.Code != "" {
		text = e.Code + ": " + text
	}
	if e.Type != "" {
		text += " (" + e.Type + ")"
	}
	return text
}

// outcomeText is what an op yielded, for a column.
func outcomeText(value json.RawMessage, e *errorView) string {
	if e != nil {
		return short(errorText(e), 80)
	}
	return short(string(value), 80)
}
