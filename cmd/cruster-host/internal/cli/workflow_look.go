package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
)

// pageLimit is the largest page that a host hands out.
const pageLimit = 1000

func (a *app) workflowDescribe() *cobra.Command {
	return &cobra.Command{
		Use:     "describe EXECUTION",
		Short:   "Show what an execution is doing and what it waits for",
		Long:    "Show an execution with its request, the ops that it waits for, and its settled\ndeferreds. For a paused one the error says why.",
		Example: "  cruster-host workflow describe orders/ProcessOrder/order-42",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Workflows().Describe(cmd.Context(), &crusterv1.DescribeRequest{Namespace: a.namespace, Execution: args[0], Encoding: jsonForm})
				if err != nil {
					return err
				}
				return a.emit(viewDescription(resp), func() error { return a.printDescription(resp) })
			})
		},
	}
}

func (a *app) printDescription(d *crusterv1.DescribeResponse) error {
	view := viewDescription(d)
	all := append(executionLines(d.GetExecution()), line{"input", pretty(view.Input, "")},
		line{"journal", strconv.FormatUint(view.Entries, 10) + " entries"}, line{"in memory", yesNo(view.Resident)})
	if err := a.lines(all...); err != nil {
		return err
	}
	var rows [][]string
	for i, p := range view.Pending {
		// Every execution listens for interrupts: it is nothing that it waits for.
		if p.Kind != abi.OpInterrupted {
			rows = append(rows, pendingRow(p, d.GetPending()[i]))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.stdout, "\nwaits for")
		if err := a.rows([]string{"OP", "KIND", "NAME", "KEY", "SINCE", "DUE", "ATTEMPT", "LAST ERROR"}, rows); err != nil {
			return err
		}
	}
	if len(view.Deferreds) > 0 {
		fmt.Fprintln(a.stdout, "\nsettled deferreds")
		var rows [][]string
		for i, s := range view.Deferreds {
			rows = append(rows, []string{s.Name, when(d.GetDeferreds()[i].GetAt()), outcomeText(s.Value, s.Error)})
		}
		return a.rows([]string{"NAME", "AT", "OUTCOME"}, rows)
	}
	return nil
}

func pendingRow(p pendingView, wire *crusterv1.PendingOp) []string {
	attempt := ""
	if p.Attempt > 0 {
		attempt = strconv.FormatUint(uint64(p.Attempt), 10)
	}
	return []string{strconv.FormatUint(uint64(p.Number), 10), p.Kind, short(p.Name, 40), short(p.Key, 24), when(wire.GetSince()), when(wire.GetDueAt()), attempt, short(errorText(p.LastError), 60)}
}

func (a *app) workflowHistory() *cobra.Command {
	var after uint64
	var limit int
	cmd := &cobra.Command{
		Use:     "history EXECUTION",
		Short:   "Show the journal of an execution",
		Long:    "Show the journal of an execution: what was delivered to it, in order, and which\nattempts of its activities failed.",
		Example: "  cruster-host workflow history orders/ProcessOrder/order-42 -o jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usagef("--limit is %d, not 1 or more", limit)
			}
			return a.withClient(func(c *client.Client) error {
				entries, next, err := a.history(cmd, c, args[0], after, limit)
				if err != nil {
					return err
				}
				return a.printHistory(entries, next)
			})
		},
	}
	cmd.Flags().Uint64Var(&after, "after", 0, "sequence number of the last entry seen")
	cmd.Flags().IntVar(&limit, "limit", pageLimit, "how many entries at most")
	return cmd
}

// history reads up to limit entries, page by page.
func (a *app) history(cmd *cobra.Command, c *client.Client, execution string, after uint64, limit int) ([]*crusterv1.HistoryEntry, uint64, error) {
	var entries []*crusterv1.HistoryEntry
	for {
		resp, err := c.Workflows().History(cmd.Context(), &crusterv1.HistoryRequest{
			Namespace: a.namespace, Execution: execution, After: after, PageSize: int32(min(limit-len(entries), pageLimit)), Encoding: jsonForm,
		})
		if err != nil {
			return nil, 0, err
		}
		entries, after = append(entries, resp.GetEntries()...), resp.GetNext()
		if after == 0 || len(entries) >= limit {
			return entries, after, nil
		}
	}
}

func (a *app) printHistory(entries []*crusterv1.HistoryEntry, next uint64) error {
	views, rows := []entryView{}, [][]string{}
	for _, e := range entries {
		v := viewEntry(e)
		views = append(views, v)
		attempts := ""
		if v.Attempts > 0 {
			attempts = strconv.FormatUint(uint64(v.Attempts), 10)
		}
		rows = append(rows, []string{strconv.FormatUint(v.Seq, 10), strconv.FormatUint(v.Turn, 10), when(e.GetAt()), v.Kind, strconv.FormatUint(uint64(v.Op), 10), v.OpKind, short(v.Name, 40), short(v.Key, 24), attempts, outcomeText(v.Value, v.Error)})
	}
	whole := map[string]any{"entries": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := a.rows([]string{"SEQ", "TURN", "AT", "ENTRY", "OP", "KIND", "NAME", "KEY", "ATTEMPTS", "OUTCOME"}, rows)
		if next != 0 {
			fmt.Fprintf(a.stderr, "more: add --after %d\n", next)
		}
		return err
	})
}

func (a *app) workflowList() *cobra.Command {
	var workflow, state, after string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List executions, newest first",
		Long:  "List executions, newest first. --workflow takes DEPLOYMENT/WORKFLOW, or\nDEPLOYMENT/ for all workflows of a deployment.",
		Example: `  cruster-host workflow list --state paused
  cruster-host workflow list --workflow orders/ProcessOrder --limit 1000 -o jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := parseState(state)
			if err != nil {
				return err
			}
			if limit < 1 {
				return usagef("--limit is %d, not 1 or more", limit)
			}
			return a.withClient(func(c *client.Client) error {
				executions, next, err := a.list(cmd, c, &crusterv1.ListRequest{Namespace: a.namespace, Workflow: workflow, State: wanted, PageToken: after}, limit)
				if err != nil {
					return err
				}
				return a.printList(executions, next)
			})
		},
	}
	cmd.Flags().StringVar(&workflow, "workflow", "", "only executions of this workflow or deployment")
	cmd.Flags().StringVar(&state, "state", "", "only executions in this state: running, paused, completed, failed or interrupted")
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
		return 0, usagef("there is no state %q: choose running, paused, completed, failed or interrupted", s)
	}
	return crusterv1.State(v), nil
}

// list reads up to limit executions, page by page.
func (a *app) list(cmd *cobra.Command, c *client.Client, req *crusterv1.ListRequest, limit int) ([]*crusterv1.Execution, string, error) {
	var executions []*crusterv1.Execution
	for {
		req.PageSize = int32(min(limit-len(executions), pageLimit))
		resp, err := c.Workflows().List(cmd.Context(), req)
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
	views, rows := []executionView{}, [][]string{}
	for _, e := range executions {
		v := viewExecution(e)
		views = append(views, v)
		rows = append(rows, []string{v.Name, string(v.State), when(e.GetCreatedAt()), when(e.GetFinishedAt()), short(errorText(v.Error), 60)})
	}
	whole := map[string]any{"executions": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := a.rows([]string{"EXECUTION", "STATE", "CREATED", "FINISHED", "ERROR"}, rows)
		if next != "" {
			fmt.Fprintf(a.stderr, "more: add --after %s\n", next)
		}
		return err
	})
}
