package cli

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) moduleCheck() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "See which open executions a module would fit",
		Long: `See which open executions of a deployment a module would fit, before it is
pushed. The host replays each of them, running or paused, on the module. It
stores nothing and performs nothing. Then it compares the types of entities with
the states that there are, and with what open executions may send, as
'module push' does.

The table counts per workflow how many fit. Below it stands what differs: the
journal beside what the code does, once for each kind of difference. -o json has
the same; -o jsonl has one line an execution. What a push would be refused for
is also written to standard error.

Before the first push of a deployment nothing is open, so nothing differs: the
module alone is checked, as 'module push' would.

` + exitHelp,
		Example: "  cruster-host module check orders.wasm --name orders",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == "" {
				return usage.Errorf("--name is missing: for which deployment do you check %s?", filepath.Base(args[0]))
			}
			binary, err := readModule(args[0])
			if err != nil {
				return err
			}
			return a.withClient(func(c *client.Client) error {
				return a.check(cmd, c, client.CheckRequest{Name: name, Binary: binary})
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the deployment")
	return cmd
}

// check prints the host's findings. Nothing of it is kept but the summary: there may be many
// thousands of executions.
func (a *app) check(cmd *cobra.Command, c *client.Client, req client.CheckRequest) error {
	summary := view.NewCheck(req.Name)
	line := newProgress(a.stderr, "checked")
	req.Sent = line.sent(len(req.Binary))
	var refusal error // of a push, because of its types
	for r, err := range c.Check(cmd.Context(), req) {
		if abi.CodeOf(err) == abi.CodeDeploymentNotFound {
			summary.Deployed = false // so nothing is open, and nothing can differ
			break
		}
		if abi.CodeOf(err) == abi.CodeStateLost {
			refusal, summary.Types = err, abi.AsError(err).Message
			break
		}
		if err == nil && a.output == "jsonl" {
			err = a.writeJSON(view.CheckedOf(r), "")
		}
		if err != nil {
			line.end()
			return err
		}
		summary.Add(r)
		line.at(r.GetDone(), r.GetTotal())
	}
	line.end()
	if err := a.printCheck(summary); err != nil {
		return err
	}
	if refusal != nil && summary.Differ == 0 {
		return &foreseenRefusal{refusal}
	}
	if summary.Differ == 0 {
		return nil
	}
	differ := abi.Errorf(
		abi.CodeDoesNotFit, "the module does not fit %d of %d open executions of %s", summary.Differ,
		summary.Fit+summary.Differ, req.Name,
	).
		WithHint("Keep the steps that have run as they were, or guard the change with Patched. Those that do not fit " +
			"stay on the module that they are on.")
	if refusal != nil {
		differ.Message += "; a push of it is refused without --force: " + summary.Types
		differ.Hint += " " + abi.AsError(refusal).Hint
	}
	return differ
}

// A foreseenRefusal is the error that a push would have.
type foreseenRefusal struct{ error }

func (r *foreseenRefusal) Unwrap() error { return r.error }

func (a *app) printCheck(summary *view.Check) error {
	if a.output == "jsonl" {
		return nil // its lines are out
	}
	return a.emit(summary, func() error { return view.WriteCheck(a.stdout, summary) })
}
