package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// pageLimit is the largest page that a host hands out.
const pageLimit = 1000

func (a *app) workflowDescribe() *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "describe EXECUTION",
		Short: "Show what an execution is doing and what it waits for",
		Long: "Show an execution with its request, the ops that it waits for, its settled\ndeferreds and its " +
			"earlier runs. For a paused one the error says why.",
		Example: "  cruster-host workflow describe orders/ProcessOrder/order-42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().GetExecution(cmd.Context(), &crusterv1.GetExecutionRequest{
					View:      crusterv1.ExecutionView_EXECUTION_VIEW_FULL,
					Namespace: a.namespace, Execution: args[0], RunId: run, Encoding: jsonForm,
				})
				if err != nil {
					return err
				}
				return a.emit(view.DescriptionOf(resp), func() error {
					return view.WriteDescription(a.stdout, resp, a.addrFlag())
				})
			})
		},
	}
	addRun(cmd, &run)
	return cmd
}

func (a *app) workflowHistory() *cobra.Command {
	var run string
	var after uint64
	var limit int
	cmd := &cobra.Command{
		Use:   "history EXECUTION",
		Short: "Show the journal of an execution",
		Long: `Show the journal of an execution: what was delivered to it, in order, and which
attempts of its activities failed. A journal has a hash of the arguments of a
step, not the arguments; 'workflow describe' shows the request of a child.`,
		Example: "  cruster-host workflow history orders/ProcessOrder/order-42 -o jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage.Errorf("--limit is %d, not 1 or more", limit)
			}
			return a.withClient(func(c *client.Client) error {
				entries, next, err := a.history(
					cmd, c,
					&crusterv1.ListHistoryRequest{
						Namespace: a.namespace, Execution: args[0], RunId: run, After: after, Encoding: jsonForm,
					},
					limit,
				)
				if err != nil && len(entries) == 0 {
					return err
				}
				return errors.Join(a.printHistory(entries, next), err)
			})
		},
	}
	cmd.Flags().Uint64Var(&after, "after", 0, "sequence number of the last entry seen")
	cmd.Flags().IntVar(&limit, "limit", pageLimit, "how many entries at most")
	addRun(cmd, &run)
	return cmd
}

// history reads up to limit entries, page by page. If one of them does not decode, the entries
// before it come with the error.
func (a *app) history(
	cmd *cobra.Command, c *client.Client, req *crusterv1.ListHistoryRequest, limit int,
) ([]*crusterv1.HistoryEntry, uint64, error) {
	var entries []*crusterv1.HistoryEntry
	for {
		req.PageSize = int32(min(limit-len(entries), pageLimit))
		resp, err := c.Workflows().ListHistory(cmd.Context(), req)
		if abi.CodeOf(err) == abi.CodeHostFault {
			return entries, 0, err
		}
		if err != nil {
			return nil, 0, err
		}
		entries, req.After = append(entries, resp.GetEntries()...), resp.GetNext()
		if req.GetAfter() == 0 || len(entries) >= limit {
			return entries, req.GetAfter(), nil
		}
	}
}

func (a *app) printHistory(entries []*crusterv1.HistoryEntry, next uint64) error {
	views := []view.Entry{}
	for _, e := range entries {
		views = append(views, view.EntryOf(e))
	}
	whole := map[string]any{"entries": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := view.WriteHistory(a.stdout, entries)
		if next != 0 {
			fmt.Fprintf(a.stderr, "more: add --after %d\n", next)
		}
		return err
	})
}

func (a *app) workflowList() *cobra.Command {
	var workflow, state, after string
	var where []string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List executions, newest first",
		Long: `List executions, newest first. --workflow takes DEPLOYMENT/WORKFLOW, or
DEPLOYMENT/ for all workflows of a deployment. A name that is neither deployed
nor has executions is an error. --where selects by an attribute that executions
publish: NAME=VALUE, or < <= > >= instead of =. Up to 4 of them can be given,
and all must hold. With --workflow DEPLOYMENT/WORKFLOW a value is of the type
that the workflow declares; otherwise it is what it looks like, and a text in
double quotes is a text.`,
		Example: `  cruster-host workflow list --state paused
  cruster-host workflow list --workflow orders/ProcessOrder \
    --where customer=ada --where 'amount>=100'
  cruster-host workflow list --workflow orders/ProcessOrder --limit 1000 \
    -o jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := parseState(state)
			if err != nil {
				return err
			}
			if limit < 1 {
				return usage.Errorf("--limit is %d, not 1 or more", limit)
			}
			conditions, err := parseWhere(where)
			if err != nil {
				return err
			}
			return a.withClient(func(c *client.Client) error {
				req := &crusterv1.ListExecutionsRequest{
					Namespace: a.namespace, Workflow: workflow, State: wanted, Where: conditions, PageToken: after,
				}
				executions, next, err := a.list(cmd, c, req, limit)
				if err != nil {
					return err
				}
				a.noteEmptyNamespace(cmd.Context(), c, len(executions))
				return a.printList(executions, next)
			})
		},
	}
	cmd.Flags().StringVar(&workflow, "workflow", "", "only executions of this workflow or deployment")
	cmd.Flags().StringVar(
		&state, "state", "", "only executions in this state: running, paused, completed, failed or interrupted",
	)
	cmd.Flags().StringArrayVar(
		&where, "where", nil,
		"only executions whose attribute is so, such as customer=ada or 'amount>=100'; may be repeated",
	)
	cmd.Flags().StringVar(&after, "after", "", "where the page before ended")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many executions at most")
	return cmd
}

func parseState(s string) (crusterv1.State, error) {
	if s == "" {
		return crusterv1.State_STATE_UNSPECIFIED, nil
	}
	v, ok := crusterv1.State_value["STATE_"+strings.ToUpper(s)]
	if !ok || v == int32(crusterv1.State_STATE_UNSPECIFIED) {
		return 0, usage.Errorf("there is no state %q: choose running, paused, completed, failed or interrupted", s)
	}
	return crusterv1.State(v), nil
}

// list reads up to limit executions, page by page.
func (a *app) list(
	cmd *cobra.Command, c *client.Client, req *crusterv1.ListExecutionsRequest, limit int,
) ([]*crusterv1.Execution, string, error) {
	var executions []*crusterv1.Execution
	for {
		req.PageSize = int32(min(limit-len(executions), pageLimit))
		resp, err := c.Workflows().ListExecutions(cmd.Context(), req)
		if err != nil {
			return nil, "", err
		}
		executions, req.PageToken = append(executions, resp.GetExecutions()...), resp.GetNextPageToken()
		if req.PageToken == "" || len(executions) >= limit {
			return executions, req.PageToken, nil
		}
	}
}

func (a *app) printList(executions []*crusterv1.Execution, next string) error {
	views := []view.Execution{}
	for _, e := range executions {
		views = append(views, view.ExecutionOf(e))
	}
	whole := map[string]any{"executions": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := view.WriteExecutions(a.stdout, executions)
		if next != "" {
			fmt.Fprintf(a.stderr, "more: add --after %s\n", next)
		}
		return err
	})
}
