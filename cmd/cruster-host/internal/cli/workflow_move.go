package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowMove() *cobra.Command {
	var to, workflow, state string
	cmd := &cobra.Command{
		Use:   "move [EXECUTION]",
		Short: "Have executions go on with another module",
		Long: `Have a running or paused execution go on with another module: the one that the
deployment points at (latest), or one by its digest, of which the first digits
are enough if only one module has them. The host replays the journal on it
first. If the module does not fit what the execution has done, nothing is
changed and both sides are shown. If it fits, the execution goes on there, also
if it was paused.

--workflow moves all open executions of a workflow, or of a deployment
(DEPLOYMENT/), and --state only those that are running or paused. Each is moved
or left as it is, and the table says which.

` + exitHelp,
		Example: `  cruster-host workflow move orders/ProcessOrder/order-42 --to latest
  cruster-host workflow move --workflow orders/ProcessOrder --state paused`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			wanted, err := parseState(state)
			if err != nil {
				return err
			}
			switch {
			case len(args) == 1 && (workflow != "" || state != ""):
				return usage.Errorf("name one EXECUTION, or many with --workflow, but not both")
			case len(args) == 1:
				return a.withClient(func(c *client.Client) error { return a.moveOne(cmd, c, args[0], to) })
			case workflow == "":
				return usage.Errorf("EXECUTION is missing; --workflow moves many")
			default:
				return a.withClient(func(c *client.Client) error {
					return a.moveAll(cmd, c, client.MoveAllRequest{
						Workflow: workflow, State: client.StateOf(wanted), To: to,
					})
				})
			}
		},
	}
	cmd.Flags().StringVar(&to, "to", client.Latest, "the module: latest, or a digest or the beginning of one")
	cmd.Flags().StringVar(&workflow, "workflow", "", "all open executions of this workflow or deployment")
	cmd.Flags().StringVar(&state, "state", "", "with --workflow: only those that are running or paused")
	return cmd
}

func (a *app) moveOne(cmd *cobra.Command, c *client.Client, execution, to string) error {
	resp, err := c.Workflows().MoveExecution(cmd.Context(), &crusterv1.MoveExecutionRequest{
		Namespace: a.namespace, Execution: execution, To: to,
	})
	if err != nil {
		return err
	}
	r := &crusterv1.MoveResult{Execution: resp.GetExecution(), FromDigest: resp.GetFromDigest()}
	return a.emit(view.MovedOf(r), func() error { return view.WriteMove(a.stdout, r, a.addrFlag()) })
}

// moveAll prints the outcome of each execution, also if the host stopped half-way.
func (a *app) moveAll(cmd *cobra.Command, c *client.Client, req client.MoveAllRequest) error {
	var results []*crusterv1.MoveResult
	var stopped error
	var causes unmovedCauses
	views, moved := []view.Moved{}, 0
	line := newProgress(a.stderr, "done")
	for r, err := range c.MoveAll(cmd.Context(), req) {
		if err != nil {
			stopped = err
			break
		}
		v := view.MovedOf(r.GetResult())
		results, views = append(results, r.GetResult()), append(views, v)
		if v.Moved {
			moved++
		}
		causes.add(r.GetResult().GetError())
		line.at(r.GetDone(), 0)
	}
	line.end()
	if stopped != nil && len(results) == 0 {
		return stopped // the request is wrong: there is nothing to show
	}
	whole := map[string]any{
		"executions": views,
		"moved":      moved,
		"unmoved":    causes.misfits + causes.others,
		"unchanged":  len(results) - moved - causes.misfits - causes.others,
	}
	err := emitAll(a, views, whole, func() error { return view.WriteMoves(a.stdout, results) })
	switch {
	case err != nil:
		return err
	case stopped != nil:
		return stopped
	}
	return causes.err(len(results), "executions were not moved")
}

// unmovedCauses counts why executions were not moved. Its zero value is empty.
type unmovedCauses struct {
	misfits, others int
	other           *crusterv1.Error // the first that is no misfit
}

// add counts why an execution was not moved; nil says that it was.
func (u *unmovedCauses) add(cause *crusterv1.Error) {
	switch {
	case cause == nil:
	case abi.Code(cause.GetCode()) == abi.CodeDoesNotFit:
		u.misfits++
	default:
		u.others++
		u.other = cmp.Or(u.other, cause)
	}
}

// err says how many of all were not moved, and the remedy: misfits need other code, and the first
// of the rest names its need. It is nil if all were moved.
func (u *unmovedCauses) err(all int, what string) error {
	if u.misfits+u.others == 0 {
		return nil
	}
	code, hints := abi.CodeDoesNotFit, []string(nil)
	if u.misfits > 0 {
		hints = append(
			hints,
			"Those that do not fit stay on the module that they are on. Keep the steps that have run as they were, or "+
				"guard the change with Patched.",
		)
	} else {
		code = abi.Code(u.other.GetCode())
	}
	if hint := u.other.GetHint(); hint != "" {
		if u.misfits > 0 {
			hint = "For the others: " + hint
		}
		hints = append(hints, hint)
	}
	return abi.Errorf(code, "%d of %d %s", u.misfits+u.others, all, what).WithHint("%s", strings.Join(hints, " "))
}
